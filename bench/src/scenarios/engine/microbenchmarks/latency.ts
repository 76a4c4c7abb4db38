import { setTimeout as sleep } from "node:timers/promises";
import { defineQueue, Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { consumerName, queue as queueName } from "../../../adapters/support/pgque-queue.ts";
import { dueOf } from "../../../load/messages.ts";
import { Latencies } from "../../../measure/histogram.ts";
import { ms, whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark, timed, type MicrobenchmarkContext } from "../microbenchmark.ts";
import { payload, withQueue } from "../queue.ts";

const queue = defineQueue(queueName);

/** Idle in between: the wait after a message is at least this long, and at most three times as long. */
const pauseMs = 10;

/** What the last message is given to arrive. */
const patienceMs = 10_000;

/** Messages of each round that do not count: connections are opened and statements compiled. */
const warmUp = 10;

/** After each round. */
const roundTrips = 30;

export const latency = defineMicrobenchmark({
  name: "latency",
  statement:
    "end to end with an idle @pgque/worker on loopback: from before the call of send until its handler has the message",
  method: [
    "one message at a time, 10 to 30 ms at random after the last: about 50 a second; sender and worker are in one process and share a pool",
    "the worker has its defaults and is woken by NOTIFY; statements are prepared",
    "round trip: select 1 on the same pool with the same pauses, after each round: what the machine takes to wake two processes that sleep",
    "rounds in turn with synchronous_commit as the run has it, and off for sender and worker; HDR histogram in microseconds",
  ],
  sizes: { full: { rounds: 2, seconds: 20 }, quick: { rounds: 1, seconds: 5 } },
  async measure(context, { rounds, seconds }) {
    return withQueue(context, {}, async ({ url }) => {
      const [own, off] = [newTimes(), newTimes()];
      for (let n = 0; n < rounds; n++) {
        await round(context, { url, seconds, commit: context.synchronousCommit }, own);
        await round(context, { url, seconds, commit: "off" }, off);
      }
      return {
        own: own.latencies.summary(),
        ownMessages: own.messages,
        roundTrip: own.roundTrips.summary(),
        off: off.latencies.summary(),
        offMessages: off.messages,
      };
    });
  },
  values: {
    p50: ["p50", ms, ({ own }) => own?.p50, atMost(1, ms)],
    p95: ["p95", ms, ({ own }) => own?.p95],
    p99: ["p99", ms, ({ own }) => own?.p99, atMost(5, ms)],
    max: ["max", ms, ({ own }) => own?.max],
    messages: ["messages", whole, ({ ownMessages }) => ownMessages],
    roundTripP50: ["round trip, p50", ms, ({ roundTrip }) => roundTrip?.p50],
    roundTripP99: ["round trip, p99", ms, ({ roundTrip }) => roundTrip?.p99],
    p50Off: ["synchronous_commit off, p50", ms, ({ off }) => off?.p50],
    p95Off: ["synchronous_commit off, p95", ms, ({ off }) => off?.p95],
    p99Off: ["synchronous_commit off, p99", ms, ({ off }) => off?.p99],
    maxOff: ["synchronous_commit off, max", ms, ({ off }) => off?.max],
    messagesOff: ["synchronous_commit off, messages", whole, ({ offMessages }) => offMessages],
  },
});

/** Of all rounds with one synchronous_commit. */
const newTimes = () => ({ latencies: new Latencies(), roundTrips: new Latencies(), messages: 0 });

async function round(
  { signal, note }: MicrobenchmarkContext,
  { url, seconds, commit }: { url: string; seconds: number; commit: "on" | "off" },
  times: ReturnType<typeof newTimes>,
): Promise<void> {
  note(`synchronous_commit ${commit}`);
  const count = { sent: 0, seen: 0 };
  await using pgque = new Pgque({ connectionString: url, max: 8, options: `-c synchronous_commit=${commit}` });
  const handle = (message: unknown): void => {
    count.seen += 1;
    if (count.seen <= warmUp) return;
    times.latencies.record(performance.now() - dueOf(message));
    times.messages += 1;
  };
  await using worker = new Worker(pgque, queue, ({ payload }) => handle(payload), { consumer: consumerName });
  await worker.start();
  const pause = (): Promise<void> => sleep(pauseMs + Math.random() * 2 * pauseMs, undefined, { signal });
  const sendOne = async (): Promise<void> => {
    await pause();
    count.sent += 1;
    await pgque.send(queue, JSON.parse(payload()));
  };
  while (count.sent < warmUp) await sendOne();
  const endMs = performance.now() + seconds * 1000;
  while (performance.now() < endMs) await sendOne();
  const lastMs = performance.now() + patienceMs;
  while (count.seen < count.sent) {
    if (performance.now() > lastMs)
      throw new Error(`${count.sent - count.seen} of ${count.sent} messages did not arrive`);
    await sleep(10, undefined, { signal });
  }
  for (let n = 0; n < roundTrips; n++) {
    await pause();
    await timed(times.roundTrips, () => pgque.pool.query({ name: "nothing", text: "select 1" }));
  }
}
