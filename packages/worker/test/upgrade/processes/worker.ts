// A worker of each queue, until it is told to end: writes what its handlers are done with, and what it says that somebody should look at. Some
// messages fail the first time. Arguments: folder of the ledgers, names of the queues.
import path from "node:path";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Pgque, defineQueue } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { ledgerOfProcess } from "../../faults/ledger.ts";

const [folder = "", ...queues] = process.argv.slice(2);
const pgque = new Pgque(process.env["DATABASE_URL"]);
const nothing = (): void => undefined;

const workers = queues.map((queue) => {
  const note = ledgerOfProcess(path.join(folder, queue));
  const said = (message: string, fields: object = {}): void => {
    if (message !== "message failed") note("said", `${message} ${JSON.stringify(fields, words)}`);
  };
  return new Worker(
    pgque,
    defineQueue(queue),
    async ({ payload, attempt, headers }) => {
      const what = String(payload);
      if (attempt === 1 && /[05]$/.test(what)) throw new Error("the first time it fails");
      await pause(Math.random() * 4);
      note("handled", "run_at" in headers ? `${what}/${String(headers["run_at"])}` : what, "default");
    },
    {
      mode: queue === "keyed" ? "ordered" : "shared",
      concurrency: 5,
      retryMinMs: 10,
      retryMaxMs: 50,
      maintainIntervalMs: 200,
      log: { debug: nothing, info: nothing, warn: said, error: said },
    },
  );
});

function words(_key: string, value: unknown): unknown {
  return value instanceof Error ? String(value) : value;
}

await Promise.all(workers.map((worker) => worker.start()));
await once(process, "SIGTERM");
await Promise.all(workers.map((worker) => worker.stop()));
await pgque.close();
