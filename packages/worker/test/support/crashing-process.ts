// A worker whose handler ends the process at the payload "poison": writes what it begins and has handled, a line each, to a ledger. Arguments: name of
// the queue, file of the ledger, how it ends, the worker's options.
import { openSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type Message, type MessageTypes, Pgque, defineQueue } from "@pgque/client";
import { Worker, type WorkerOptions } from "@pgque/worker";

const [name = "", file = "", end = "exit", given = "{}"] = process.argv.slice(2);
const ledger = openSync(file, "a");
const { batch, ...options }: WorkerOptions<MessageTypes, boolean> = JSON.parse(given);
const note = (what: string, { payload, attempt }: Message): number =>
  writeSync(ledger, `${JSON.stringify([what, payload, attempt])}\n`);

const ends: Record<string, () => unknown> = {
  exit: () => process.exit(7),
  kill: () => process.kill(process.pid, "SIGKILL"),
  reject: () => void Promise.reject(new Error("nobody awaits this")),
};

async function handle(message: Message): Promise<void> {
  note("begun", message);
  await pause(20);
  if (message.payload === "poison") {
    ends[end]?.();
    await pause(60_000);
  }
  note("handled", message);
}

const pgque = new Pgque(process.env["DATABASE_URL"]);
const queue = defineQueue(name);
const together = async (messages: readonly Message[]): Promise<void> => void (await Promise.all(messages.map(handle)));
const worker = batch
  ? new Worker(pgque, queue, together, { ...options, batch })
  : new Worker(pgque, queue, handle, options);
await worker.start();
process.once("SIGTERM", () => void worker.stop().then(() => pgque.close()));
