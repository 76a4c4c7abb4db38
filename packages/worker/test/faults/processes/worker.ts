// A worker: writes each message that its handler is called with and is done with, and what it says. Some messages are handled in a way of their
// own, by what their names begin with. Arguments: folder of the ledger, name of the queue, the worker's options.
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pgque, defineQueue } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { Pool } from "pg";
import { ledgerOfProcess } from "../ledger.ts";

const [folder = "", name = "", given = "{}"] = process.argv.slice(2);
const note = ledgerOfProcess(folder);
const { pool: poolConfig, ...options } = JSON.parse(given);
const connectionString = process.env["DATABASE_URL"];
// as an application has it: nobody listens for its errors
const pool = poolConfig && new Pool({ connectionString, ...poolConfig });
const pgque = new Pgque(pool ?? connectionString);
const opened = path.join(folder, `open-${process.pid}`);
const said = (message: string): void => note("said", message);

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

const ways: Record<string, (attempt: number) => Promise<void>> = { held: hold, hog, idle };

const worker = new Worker(
  pgque,
  defineQueue(name),
  async ({ payload, attempt }) => {
    const what = String(payload);
    note("begun", what, "default");
    await (ways[what] ?? quickly)(attempt);
    note("handled", what, "default");
  },
  {
    retryMinMs: 10,
    retryMaxMs: 50,
    maintainIntervalMs: 200,
    ...options,
    log: { debug: said, info: said, warn: said, error: said },
  },
);
await worker.start();
await once(process, "SIGTERM");
await worker.stop();
await pool?.end();
await pgque.close();
