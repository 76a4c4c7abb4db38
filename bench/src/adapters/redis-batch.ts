import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Adapter, System } from "./adapter.ts";
import { bullmqConsumers, bullmqWorkerSettings, openBullmqOnRedis, redisSettings } from "./bullmq.ts";
import type { BullQueue } from "./support/bullmq-backend.ts";
import { insertingInto, pulled, steadyPlans, tunedSetting, tunedTable } from "./support/table.ts";
import { closing } from "../closing.ts";
import { Failure } from "../failure.ts";
import { processCpu } from "../measure/server-cpu.ts";

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
    const failure = new Failure();
    const { backend, queue, redis, close } = await openBullmqOnRedis(failure);
    try {
      await workload.admin.query(`create schema redis_batch; ${tunedTable(table, columns)}`);
      const { send } = await pulled({ ...workload, consumers: 0 }, insertingInto(table), noConsumer);
      const client = await workload.connect("mover");
      await steadyPlans(client);
      const mover = new Mover(client, queue, workload.idlePollMs, failure);
      const consumers = bullmqConsumers(workload, backend, failure);
      const stop = closing(
        () => mover.stop(),
        () => consumers.stop(),
      );
      return {
        send,
        consumers: {
          kind: "pushed",
          async start() {
            await consumers.start();
            mover.start();
          },
          stop,
        },
        maintain: failure.check,
        otherServer: processCpu(redis.pid),
        close: closing(stop, close),
      };
    } catch (error) {
      await close();
      throw error;
    }
  },
};

const noConsumer = (): never => {
  throw new Error("redis-batch has no consumers in PostgreSQL");
};

/** Moves what is pending, from when it is started until it is stopped. */
class Mover {
  readonly #client: pg.Client;
  readonly #queue: BullQueue;
  readonly #idlePollMs: number;
  readonly #failure: Failure;
  #stopping = new AbortController();
  #running: Promise<void> | null = null;

  constructor(client: pg.Client, queue: BullQueue, idlePollMs: number, failure: Failure) {
    this.#client = client;
    this.#queue = queue;
    this.#idlePollMs = idlePollMs;
    this.#failure = failure;
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#running = this.#run(this.#stopping.signal).catch(this.#failure.note);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const moved = await this.#move();
      if (moved === 0) await sleep(this.#idlePollMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #move(): Promise<number> {
    await this.#client.query("begin isolation level repeatable read");
    const { rows } = await this.#client.query<[string, string]>({ name: "take", text: take, rowMode: "array" });
    if (rows.length > 0) {
      await this.#queue.addBulk(rows.map(([, payload]) => ({ name: "default", data: JSON.parse(payload) as unknown })));
      await this.#client.query({ name: "remove", text: remove, values: [rows.map(([id]) => id)] });
    }
    await this.#client.query("commit");
    return rows.length;
  }
}

export const adapter: Adapter = { load: [redisBatch] };
