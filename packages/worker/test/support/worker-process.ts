// A worker of that queue, with those options, to be killed: writes each payload that it has handled; payload 0 is never done.
import { Pgque, defineQueue } from "@pgque/client";
import { Worker } from "@pgque/worker";

const pgque = new Pgque(process.env["DATABASE_URL"]);
const queue = defineQueue(process.argv[2] ?? "");
const worker = new Worker(
  pgque,
  queue,
  async ({ payload }) => {
    if (payload === 0) {
      process.stdout.write("blocked\n");
      await new Promise(() => undefined);
    }
    process.stdout.write(`${String(payload)}\n`);
  },
  JSON.parse(process.argv[3] ?? "{}"),
);
await worker.start();
