import type pg from "pg";
import { Background } from "../../../load/background.ts";
import { type Load, openLoop } from "../../../load/load.ts";
import { Tally } from "../../../load/tally.ts";
import { Latencies } from "../../../measure/histogram.ts";
import { ms, whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark, timed } from "../microbenchmark.ts";
import { ack, payloadBytes, receive, send, withQueue, type QueueDatabase } from "../queue.ts";

/** A call that takes longer has been held up. */
const stallMs = 20;

const everySeconds = 0.2;

export const rotation = defineMicrobenchmark({
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
  async measure(context, { rounds, seconds, ...sizes }) {
    return withQueue(context, { rotation_bytes: 8192, rotation_min_interval: "0 s" }, async (database) => {
      await timeLocks(database.admin);
      const runTraffic = await openTraffic(database, sizes);
      const round = async (lasting: number, calls: TrafficCalls, rotator?: Rotator): Promise<void> => {
        const beside = new Background(context.signal);
        if (rotator !== undefined) beside.every(everySeconds, () => rotator.rotate());
        try {
          await runTraffic(lasting, calls, beside.signal);
        } finally {
          await beside.stop();
        }
      };
      const openRotator = async (): Promise<Rotator> => new Rotator(await database.connect("maintain"));
      // Connections, plans and the first rotations.
      await round(Math.min(1, seconds), newCalls(), await openRotator());
      const [rotator, rotating, control] = [await openRotator(), newCalls(), newCalls()];
      for (let n = 0; n < rounds; n++) {
        context.note(`round ${n + 1} of ${rounds}`);
        await round(seconds, rotating, rotator);
        await round(seconds, control);
      }
      if (rotator.rotations === 0) throw new Error("no segment was truncated");
      return { rotator, rotating, control };
    });
  },
  values: {
    rotations: ["segments truncated", whole, ({ rotator }) => rotator.rotations],
    gaveUp: ["locks not got in time", whole, ({ rotator }) => rotator.gaveUp],
    waitP50: ["lock wait, p50", ms, ({ rotator }) => rotator.waits.summary()?.p50],
    waitP99: ["lock wait, p99", ms, ({ rotator }) => rotator.waits.summary()?.p99],
    waitMax: ["lock wait, max", ms, ({ rotator }) => rotator.waits.summary()?.max],
    holdP50: ["lock held, p50", ms, ({ rotator }) => rotator.holds.summary()?.p50],
    holdP99: ["lock held, p99", ms, ({ rotator }) => rotator.holds.summary()?.p99],
    holdMax: ["lock held, max", ms, ({ rotator }) => rotator.holds.summary()?.max],
    receiveP99: ["receive, p99", ms, ({ rotating }) => rotating.receive.summary()?.p99],
    receiveP99Control: ["receive, p99, control", ms, ({ control }) => control.receive.summary()?.p99],
    receiveMax: ["receive, max", ms, ({ rotating }) => rotating.receive.summary()?.max, atMost(stallMs, ms)],
    receiveMaxControl: ["receive, max, control", ms, ({ control }) => control.receive.summary()?.max],
    receivesSlow: ["receives over 20 ms", whole, ({ rotating }) => rotating.receive.slow],
    receivesSlowControl: ["receives over 20 ms, control", whole, ({ control }) => control.receive.slow],
    sendMax: ["send, max", ms, ({ rotating }) => rotating.send.summary()?.max],
    sendMaxControl: ["send, max, control", ms, ({ control }) => control.send.summary()?.max],
    sendsSlow: ["sends over 20 ms", whole, ({ rotating }) => rotating.send.slow],
    sendsSlowControl: ["sends over 20 ms, control", whole, ({ control }) => control.send.slow],
    sendsSlowBeyond: [
      "sends over 20 ms beyond the control's",
      whole,
      ({ rotating, control }) => Math.max(0, rotating.send.slow - control.send.slow),
      atMost(0, whole),
    ],
    receives: ["receives", whole, ({ rotating }) => rotating.receive.count],
    sends: ["sends", whole, ({ rotating }) => rotating.send.count],
  },
});

/** What one kind of call took, and how often longer than it should. */
class Calls extends Latencies {
  count = 0;
  slow = 0;

  override record(ms: number): void {
    super.record(ms);
    this.count += 1;
    if (ms > stallMs) this.slow += 1;
  }
}

const newCalls = () => ({ send: new Calls(), receive: new Calls() });
type TrafficCalls = ReturnType<typeof newCalls>;

/** Senders at a fixed rate and receivers that take what there is. Nobody waits for the disk: its pauses are not the queue's. */
async function openTraffic(
  { connect }: QueueDatabase,
  { senders, receivers, sendsPerSecond }: { senders: number; receivers: number; sendsPerSecond: number },
): Promise<(seconds: number, calls: TrafficCalls, signal: AbortSignal) => Promise<unknown>> {
  const open = (role: string, count: number): Promise<pg.Client[]> =>
    Promise.all(Array.from({ length: count }, () => connect(role, { synchronousCommit: "off" })));
  const sending = await open("send", senders);
  const receiving = await open("receive", receivers);
  const acking = await open("ack", receivers);
  return (seconds, calls, signal) => {
    const load: Load = {
      send: sending.map((client) => () => timed(calls.send, () => send(client))),
      consumers: {
        kind: "pulled",
        receive: receiving.map((client, index) => async () => {
          const batch = await timed(calls.receive, () => receive(client, 100));
          await ack(acking[index] ?? client, batch);
          return batch.messages;
        }),
      },
      tally: new Tally(),
      payloadBytes,
      sendBatch: 1,
      idlePollMs: 5,
      lateness: new Latencies(),
    };
    return openLoop(sendsPerSecond)(load, seconds, signal);
  };
}

const prefix = "pgque bench lock ";

/** In the notice, milliseconds: from the arrival of the statement to the request, and from there until it had the lock or gave up. */
interface LockNotice {
  askedMs: number;
  waitedMs: number;
  locked: boolean;
}

/** The engine's own rotation, with its lock timed from inside: a clock around the call would count its queries, too. */
async function timeLocks(admin: pg.Client): Promise<void> {
  await admin.query(`
    alter function pgque.lock_segment(int, int) rename to lock_segment_untimed;
    create function pgque.lock_segment(queue_id int, segment int) returns boolean
    language plpgsql
    as $$
    declare
      asked constant timestamptz := clock_timestamp();
      locked constant boolean := pgque.lock_segment_untimed(queue_id, segment);
      got constant timestamptz := clock_timestamp();
    begin
      raise notice '${prefix}%', json_build_object(
        'askedMs', extract(epoch from asked - statement_timestamp()) * 1000,
        'waitedMs', extract(epoch from got - asked) * 1000,
        'locked', locked);
      return locked;
    end
    $$`);
}

/** Calls maintain() and keeps what its locks took. */
class Rotator {
  readonly #client: pg.Client;
  readonly waits = new Latencies();
  readonly holds = new Latencies();
  #notices: LockNotice[] = [];
  rotations = 0;
  gaveUp = 0;

  constructor(client: pg.Client) {
    this.#client = client;
    client.on("notice", ({ message = "" }) => {
      if (message.startsWith(prefix)) this.#notices.push(JSON.parse(message.slice(prefix.length)));
    });
  }

  async rotate(): Promise<void> {
    this.#notices = [];
    const startMs = performance.now();
    await this.#client.query({ name: "maintain", text: "select pgque.maintain()" });
    const tookMs = performance.now() - startMs;
    for (const { askedMs, waitedMs, locked } of this.#notices) {
      this.waits.record(waitedMs);
      if (locked) this.holds.record(tookMs - askedMs - waitedMs);
      if (locked) this.rotations += 1;
      else this.gaveUp += 1;
    }
  }
}
