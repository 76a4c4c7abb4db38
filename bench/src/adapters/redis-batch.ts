import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Adapter, System } from "./adapter.ts";
import { bullmqWorkerSettings, durableRedis, openOnRedis, redisSettings } from "./bullmq.ts";
import { pushed, type LibraryQueue } from "./support/library.ts";
import { insertingInto, pulled, steadyPlans, tunedSetting, tunedTable } from "./support/table.ts";
import { closing, Failure } from "../runner/failure.ts";

const table = "redis_batch.pending";
const columns = `
  id bigint generated always as identity primary key,
  payload text not null,
  created_at timestamptz not null default now()`;

const take = "select id::text, payload from redis_batch.pending order by pending.id limit 1000";
const remove = "delete from redis_batch.pending where id = any($1::bigint[])";

/** The queue that left PostgreSQL and kept its transactional sends. */
export const redisBatch: System = {
  name: "redis-batch",
  summary:
    "one table of what is pending; INSERT, and one process that moves rows in bulk to BullMQ on Redis and then deletes them. One of the " +
    'remedies that brandur.org\'s "Postgres Job Queues & Failure By MVCC" (2015) names, as its "Transactionally Staged Job Drains in ' +
    'Postgres" (2017) works it out; our own wording. Between Redis and the DELETE a crash moves a batch twice',
  settings: [
    "one mover, as there: a second one would move the same rows. 1,000 rows at a time in a REPEATABLE READ transaction: what it deletes is what it has seen",
    "the mover's statements are prepared, with enable_seqscan, enable_bitmapscan, enable_hashjoin, enable_mergejoin off: the plan a full table gets",
    tunedSetting,
    ...redisSettings,
    ...bullmqWorkerSettings,
  ],
  schema: "redis_batch",
  segments: null,
  async open(workload) {
    const { admin, connect, batch, idlePollMs } = workload;
    const failure = new Failure();
    const redis = await openOnRedis(durableRedis, failure.note);
    try {
      await admin.query(`create schema redis_batch; ${tunedTable(table, columns)}`);
      const { send } = await pulled({ ...workload, consumers: 0 }, insertingInto(table), noConsumer);
      const client = await connect("mover");
      await steadyPlans(client);
      const consumers = pushed(workload, failure, (handle) => redis.worker(handle, batch, failure.note));
      let stopping = new AbortController();
      let moving: Promise<void> = Promise.resolve();
      const stop = closing(
        async () => stopping.abort(),
        () => moving,
        () => consumers.stop(),
      );
      return {
        send,
        consumers: {
          kind: "pushed",
          async start() {
            await consumers.start();
            stopping = new AbortController();
            moving = moveAll(client, redis, idlePollMs, stopping.signal).catch(failure.note);
          },
          stop,
        },
        maintain: failure.check,
        otherServer: redis.cpu,
        close: closing(stop, redis.close),
      };
    } catch (error) {
      await redis.close();
      throw error;
    }
  },
};

const noConsumer = (): never => {
  throw new Error("redis-batch has no consumers in PostgreSQL");
};

/** Moves what is pending, until it is stopped. */
async function moveAll(client: pg.Client, queue: LibraryQueue, idlePollMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await client.query("begin isolation level repeatable read");
    const { rows } = await client.query<[string, string]>({ name: "take", text: take, rowMode: "array" });
    if (rows.length > 0) {
      await queue.send(rows.map(([, payload]): unknown => JSON.parse(payload)));
      await client.query({ name: "remove", text: remove, values: [rows.map(([id]) => id)] });
    }
    await client.query("commit");
    if (rows.length === 0) await sleep(idlePollMs, undefined, { signal }).catch(() => undefined);
  }
}

export const adapter: Adapter = { load: [redisBatch] };
