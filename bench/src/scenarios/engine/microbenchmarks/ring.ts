import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { consumerName, queue } from "../../../adapters/support/pgque-queue.ts";
import { Latencies } from "../../../measure/histogram.ts";
import { ms, ratio, whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark, medianRatio, timed, type MicrobenchmarkContext } from "../microbenchmark.ts";
import { addQueue, finish, locksOf, segments, sendBatch, withQueue, type QueueDatabase } from "../queue.ts";

const mebibyte = 1024 * 1024;
const forgotten = "forgotten";
const other = "other";

export const ring = defineMicrobenchmark({
  name: "ring",
  statement:
    "what maintenance and receives cost while one consumer has not received anything for long, and another is up to date",
  method: [
    "messages of 10 kB, which do not compress, are sent and received by the one consumer; the other is at the earliest and receives nothing",
    "maintain_queue is called twice after each megabyte, so the ring grows as early as it may; segments are full at 1 MiB",
    "receive: 10 messages are sent, then received and acked, which is timed. In turn with a queue that keeps nothing, whose ring has three segments",
    "late: by how much messages of another queue are late that are delayed by 0.2 s, with one round of maintenance a second, as a worker does",
    "locks: rows of pg_locks that the transaction of one maintain_queue holds at its end",
  ],
  sizes: {
    full: { mebibytes: 1024, calls: 200, delayed: 20 },
    quick: { mebibytes: 64, calls: 100, delayed: 5 },
  },
  async measure(context, { mebibytes, calls, delayed }) {
    const often = { rotation_min_interval: "0 s", rotation_bytes: mebibyte };
    return withQueue(context, often, (large) =>
      withQueue(context, often, async (small) => {
        await fill(context, large, mebibytes);
        const maintains = new Latencies();
        for (let n = 0; n < calls; n++) await timed(maintains, () => maintain(large.admin));
        const locks = await locksOf(large.admin, () => maintain(large.admin));
        const [inLarge, inSmall] = [new Latencies(), new Latencies()];
        const [one, two] = [await large.connect("consumer"), await small.connect("consumer")];
        for (let n = -20; n < calls; n++) {
          for (const [client, times] of [
            [one, inLarge],
            [two, inSmall],
          ] as const) {
            context.signal.throwIfAborted();
            await sendBatch(client, 10);
            await timed(n < 0 ? new Latencies() : times, () => finish(client, 10));
          }
        }
        return {
          segments: await segments(large),
          maintain: maintains.summary(),
          locks,
          receive: inLarge.summary(),
          receiveSmall: inSmall.summary(),
          late: await lateness(context, large, delayed),
        };
      }),
    );
  },
  values: {
    segments: ["segments", whole, ({ segments }) => segments],
    maintain: ["maintain_queue, p50", ms, ({ maintain }) => maintain?.p50],
    maintainMax: ["maintain_queue, max", ms, ({ maintain }) => maintain?.max, atMost(50, ms)],
    locks: ["locks, maintain_queue", whole, ({ locks }) => locks, atMost(100, whole)],
    receive: ["receive, p50", ms, ({ receive }) => receive?.p50],
    receiveSmall: ["receive, p50, three segments", ms, ({ receiveSmall }) => receiveSmall?.p50],
    receiveRatio: [
      "receive, p50, ring / three segments",
      ratio,
      ({ receive, receiveSmall }) => medianRatio(receive, receiveSmall),
      atMost(1.5, ratio),
    ],
    lateMax: ["delayed messages of another queue late by, max", ms, ({ late }) => late?.max, atMost(1000, ms)],
  },
});

const maintain = (client: pg.Client): Promise<unknown> =>
  client.query({ name: "maintain", text: "select pgque.maintain_queue($1)", values: [queue] });

async function fill({ signal, note }: MicrobenchmarkContext, { admin, connect }: QueueDatabase, mebibytes: number) {
  await admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared", "from": "earliest"}')`, [queue, forgotten]);
  const client = await connect("filler");
  for (let n = 0; n < mebibytes; n++) {
    signal.throwIfAborted();
    if (n % 16 === 0) note(`${whole(n)} of ${whole(mebibytes)} MiB`);
    await client.query({
      name: "fill",
      text: `select pgque.send_batch($1, array(
               select (select string_agg(md5(i::text || j), '') from generate_series(1, 320) j) from generate_series($2::int, $2 + 102) i))`,
      values: [queue, n * 103],
    });
    while ((await finish(client, 1000)) > 0);
    for (let call = 0; call < 2; call++) await maintain(admin);
  }
}

/** A worker's rounds, one a second, until so many delayed messages have come, one after the other. How late they were. */
async function lateness({ signal }: MicrobenchmarkContext, { admin, connect }: QueueDatabase, messages: number) {
  await addQueue(admin, other);
  const times = new Latencies();
  const client = await connect("other");
  for (let n = 0; n < messages; n++) {
    signal.throwIfAborted();
    // not in step with the rounds
    await pause((n * 1000) / messages);
    await client.query(`select pgque.send($1, 'default', 'x', '{"delay": 0.2}')`, [other]);
    for (let isThere = false; !isThere;) {
      const startMs = performance.now();
      for (const call of [
        "deliver_due()",
        `maintain_queue('${queue}')`,
        `maintain_queue('${other}')`,
        "maintain_shared()",
      ])
        await admin.query(`select pgque.${call}`);
      const { rows } = await client.query<{ late: number }>(
        "select (extract(epoch from clock_timestamp() - created_at) * 1000 - 200)::float8 as late from pgque.receive($1, $2)",
        [other, consumerName],
      );
      isThere = rows[0] !== undefined;
      if (rows[0]) times.record(Math.max(rows[0].late, 0));
      else await pause(Math.max(0, 1000 - (performance.now() - startMs)));
    }
  }
  return times.summary();
}
