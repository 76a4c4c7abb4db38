// A worker that answers calls, until it is killed: with twice the number, sometimes not at the first attempt, sometimes never. Arguments: name of the queue,
// options of the worker as JSON.
import { setTimeout as pause } from "node:timers/promises";
import { Pgque } from "@pgque/client";
import { deadLetter, done, Worker, type WorkerOptions } from "@pgque/worker";

const [queue = "", options = "{}"] = process.argv.slice(2);
const worker = new Worker(
  new Pgque(process.env["DATABASE_URL"]),
  queue,
  async ({ payload }) => {
    await pause(Math.random() * 20);
    if (Math.random() < 0.1) throw new Error("by chance");
    return Number(payload) % 10 === 0 ? deadLetter(`not ${Number(payload)}`) : done({ twice: Number(payload) * 2 });
  },
  {
    concurrency: 10,
    retryMinMs: 10,
    retryMaxMs: 50,
    maintainIntervalMs: 100,
    leaseMs: 2000,
    heartbeatIntervalMs: 500,
    ...(JSON.parse(options) as WorkerOptions),
  },
);
await worker.start();
