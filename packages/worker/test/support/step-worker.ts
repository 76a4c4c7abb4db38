// A worker whose handlers have steps, until it is killed. Arguments: name of the queue, file of the ledger. A line of the ledger is "begun" or "returned",
// the message, the step and its result.
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";

const [queue = "", ledger = ""] = process.argv.slice(2);
const note = (...words: unknown[]): void => appendFileSync(ledger, `${words.join(" ")}\n`);
const pgque = new Pgque(process.env["DATABASE_URL"]);
const worker = new Worker(
  pgque,
  queue,
  async ({ id }, { step }) => {
    for (const name of ["first", "second", "third"]) {
      const result = await step(name, async () => {
        note("begun", id, name);
        await pause(Math.random() * 10);
        return Math.random();
      });
      note("returned", id, name, result);
      if (Math.random() < 0.2) await step.sleep(`after ${name}`, Math.random() * 100);
      if (Math.random() < 0.1) throw new Error("by chance");
    }
    note("done", id);
  },
  { concurrency: 10, retryMinMs: 10, retryMaxMs: 50, maintainIntervalMs: 100, leaseMs: 2000, heartbeatIntervalMs: 500 },
);
await worker.start();
process.send?.("started");
