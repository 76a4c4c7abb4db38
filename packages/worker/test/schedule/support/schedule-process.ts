// A worker of that queue, to be killed: writes the id of each message that it has handled, and for when it was run.
import { Pgque, defineQueue } from "@pgque/client";
import { Worker } from "@pgque/worker";

const pgque = new Pgque(process.env["DATABASE_URL"]);
const queue = defineQueue(process.argv[2] ?? "");
const options = { leaseMs: 1000, heartbeatIntervalMs: 200 };
const worker = new Worker(
  pgque,
  queue,
  ({ id, headers }) => void process.stdout.write(`${id} ${String(headers["run_at"])}\n`),
  options,
);
await worker.start();
