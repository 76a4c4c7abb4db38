// Workers of one or more consumers: they write each message that a handler is called with and is done with, and what they say. Some messages are
// handled in a way of their own, by what their names begin with. Arguments: folder of the ledger, name of the queue, options of the workers:
// `consumers` are those of each, by its consumer.
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Message, Pgque, defineQueue, isPgqueError } from "@pgque/client";
import { Worker, type WorkerOptions } from "@pgque/worker";
import { Pool, type PoolClient } from "pg";
import type { ConsumerOptions } from "../fleet.ts";
import { ledgerOfProcess, now, poisoned, whatOf } from "../ledger.ts";

const [folder = "", name = "", given = "{}"] = process.argv.slice(2);
const note = ledgerOfProcess(folder);
const { pool: poolConfig, consumers = { default: {} }, ...shared } = JSON.parse(given);
const connectionString = process.env["DATABASE_URL"];
// as an application has it: nobody listens for its errors
const pool = poolConfig && new Pool({ connectionString, ...poolConfig });
const pgque = new Pgque(pool ?? connectionString, { callTimeoutMs: 5000 });
const opened = path.join(folder, `open-${process.pid}`);

const quickly = (): Promise<void> => pause(Math.random() * 4);

/** Until the test puts a file there. */
async function hold(): Promise<void> {
  while (!existsSync(opened)) await pause(10);
}

/** Until then nobody gets a connection of the pool. */
async function hog(): Promise<void> {
  const clients = await Promise.all(Array.from({ length: pgque.pool.options.max }, () => pgque.pool.connect()));
  await hold();
  for (const client of clients) client.release();
}

/** The first time it forgets about its transaction, until the server ends the connection. */
async function idle(attempt: number): Promise<void> {
  if (attempt > 1) return;
  const client = await pgque.pool.connect();
  client.on("error", () => undefined);
  await client.query("begin");
  // not by events.once, which throws at the error that comes before the end
  await new Promise<void>((resolve) => client.once("end", resolve));
  client.release(true);
  throw new Error("the transaction is over");
}

const ways: Record<string, (attempt: number) => Promise<void>> = {
  held: hold,
  hog,
  idle,
  poison: () => process.exit(poisoned),
};

async function handle({ payload, id, headers, attempt }: Message, consumer: string, tx?: PoolClient): Promise<void> {
  const what = whatOf(payload, id, headers);
  const begun = now();
  note("begun", what, consumer);
  await (ways[what] ?? quickly)(attempt);
  await tx?.query("insert into public.effect values ($1, $2, $3, $4)", [consumer, what, begun, now()]);
  note("handled", what, consumer);
}

/** What this process keeps, if it was started so that it can tell. */
function noteHeap(): void {
  if (!globalThis.gc) return;
  globalThis.gc();
  note("heap", String(process.memoryUsage().heapUsed));
}

const queue = defineQueue(name);
const workers = Object.entries<ConsumerOptions>(consumers).map(([consumer, { batch, effects, ...own }]) => {
  const say = (message: string): void => note("said", message, consumer);
  const options: WorkerOptions = {
    retryMinMs: 10,
    retryMaxMs: 50,
    maintainIntervalMs: 200,
    ...shared,
    ...own,
    consumer,
    log: { debug: say, info: say, warn: say, error: say },
  };
  const together = async (messages: readonly Message[]): Promise<void> => {
    await Promise.all(messages.map((message) => handle(message, consumer)));
  };
  return batch
    ? new Worker(pgque, queue, together, { ...options, batch: true })
    : new Worker(
        pgque,
        queue,
        (message, context) => handle(message, consumer, effects ? context.tx : undefined),
        options,
      );
});
const over = new AbortController();
const told = once(process, "SIGTERM").then(() => over.abort());

/** As its supervisor would: until the database is there. */
async function start(worker: Worker): Promise<void> {
  while (!over.signal.aborted) {
    try {
      return await worker.start();
    } catch (error) {
      if (!isPgqueError(error)) throw error;
      note("said", `start failed: ${error.code}`);
      await pause(50);
    }
  }
}

noteHeap();
const started = Promise.all(workers.map(start));
await Promise.race([told, started]);
await told;
await Promise.all(workers.map((worker) => worker.stop()));
await started;
await pool?.end();
await pgque.close();
noteHeap();
