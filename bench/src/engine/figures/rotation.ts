import { Background } from "../../load/background.ts";
import { ms, whole } from "../../report/format.ts";
import { Calls } from "./calls.ts";
import { atMost } from "../../scenario/target.ts";
import { defineFigure, type FigureContext } from "./figure.ts";
import { withQueue } from "./queue.ts";
import { Rotator, timeLocks } from "./rotator.ts";
import { openTraffic, runTraffic, type Traffic, type TrafficCalls } from "./traffic.ts";

/** A call that takes longer has been held up. */
const stallMs = 20;

const everySeconds = 0.2;

export const rotation = defineFigure({
  name: "rotation",
  statement:
    "how long rotation waits for its lock and holds it, and how long a receive or a send takes while a queue rotates about every 200 ms",
  method: [
    "the queue rotates whenever maintain() is called and something is in its segment; maintain() is called every 200 ms",
    "senders send one message a transaction, open loop, with synchronous_commit off so that the disk's pauses do not count; receivers take up to 100, ack, and wait 5 ms when there is nothing",
    "wait: the time that lock_segment takes, from inside the server (it is wrapped, and tells in a notice); hold: from there until the caller has maintain()'s answer, " +
      "so at most: the commit, the removal of the old files after it and a round trip are in it",
    "a receive or a send: the one call, as its client sees it",
    "control: the same traffic without maintain(), in rounds that take turns with those that rotate. A sender's stall is a send longer than 20 ms",
  ],
  sizes: {
    full: { rounds: 4, seconds: 15, senders: 4, sendsPerSecond: 800, receivers: 4 },
    quick: { rounds: 2, seconds: 5, senders: 4, sendsPerSecond: 400, receivers: 4 },
  },
  values: {
    rotations: { label: "segments truncated", format: whole },
    gaveUp: { label: "locks not got in time", format: whole },
    waitP50: { label: "lock wait, p50", format: ms },
    waitP99: { label: "lock wait, p99", format: ms },
    waitMax: { label: "lock wait, max", format: ms },
    holdP50: { label: "lock held, p50", format: ms },
    holdP99: { label: "lock held, p99", format: ms },
    holdMax: { label: "lock held, max", format: ms },
    receiveP99: { label: "receive, p99", format: ms },
    receiveP99Control: { label: "receive, p99, control", format: ms },
    receiveMax: { label: "receive, max", format: ms, target: atMost(stallMs, ms) },
    receiveMaxControl: { label: "receive, max, control", format: ms },
    receivesSlow: { label: "receives over 20 ms", format: whole },
    receivesSlowControl: { label: "receives over 20 ms, control", format: whole },
    sendMax: { label: "send, max", format: ms },
    sendMaxControl: { label: "send, max, control", format: ms },
    sendsSlow: { label: "sends over 20 ms", format: whole },
    sendsSlowControl: { label: "sends over 20 ms, control", format: whole },
    sendsSlowBeyond: { label: "sends over 20 ms beyond the control's", format: whole, target: atMost(0, whole) },
    receives: { label: "receives", format: whole },
    sends: { label: "sends", format: whole },
  },
  async measure(context, { rounds, seconds, ...sizes }) {
    return withQueue(context, { rotation_bytes: 8192, rotation_min_interval: "0 s" }, async (database) => {
      await timeLocks(database.admin);
      const traffic = await openTraffic(database, sizes);
      const open = async (): Promise<Rotator> => new Rotator(await database.connect("maintain"));
      // Connections, plans and the first rotations.
      await round(context, traffic, Math.min(1, seconds), newCalls(), await open());
      const [rotator, rotating, control] = [await open(), newCalls(), newCalls()];
      for (let n = 0; n < rounds; n++) {
        context.note(`round ${n + 1} of ${rounds}`);
        await round(context, traffic, seconds, rotating, rotator);
        await round(context, traffic, seconds, control, null);
      }
      if (rotator.rotations === 0) throw new Error("no segment was truncated");
      return { ...lockValues(rotator), ...callValues(rotating, control) };
    });
  },
});

const newCalls = (): TrafficCalls => ({ send: new Calls(stallMs), receive: new Calls(stallMs) });

/** Null: nothing rotates. */
async function round(
  { signal }: FigureContext,
  traffic: Traffic,
  seconds: number,
  calls: TrafficCalls,
  rotator: Rotator | null,
): Promise<void> {
  const beside = new Background(signal);
  if (rotator !== null) beside.every(everySeconds, () => rotator.rotate());
  try {
    await runTraffic(traffic, seconds, calls, beside.signal);
  } finally {
    await beside.stop();
  }
}

function lockValues({ rotations, gaveUp, waits, holds }: Rotator) {
  return {
    rotations,
    gaveUp,
    waitP50: waits?.p50 ?? null,
    waitP99: waits?.p99 ?? null,
    waitMax: waits?.max ?? null,
    holdP50: holds?.p50 ?? null,
    holdP99: holds?.p99 ?? null,
    holdMax: holds?.max ?? null,
  };
}

function callValues(rotating: TrafficCalls, control: TrafficCalls) {
  return {
    receiveP99: rotating.receive.summary()?.p99 ?? null,
    receiveP99Control: control.receive.summary()?.p99 ?? null,
    receiveMax: rotating.receive.summary()?.max ?? null,
    receiveMaxControl: control.receive.summary()?.max ?? null,
    receivesSlow: rotating.receive.slow,
    receivesSlowControl: control.receive.slow,
    sendMax: rotating.send.summary()?.max ?? null,
    sendMaxControl: control.send.summary()?.max ?? null,
    sendsSlow: rotating.send.slow,
    sendsSlowControl: control.send.slow,
    sendsSlowBeyond: Math.max(0, rotating.send.slow - control.send.slow),
    receives: rotating.receive.count,
    sends: rotating.send.count,
  };
}
