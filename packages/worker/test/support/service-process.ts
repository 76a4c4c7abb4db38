// A service with one worker of that queue, whose handler never ends.
import { Pgque, defineQueue } from "@pgque/client";
import { runUntilSignal, Worker } from "@pgque/worker";

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const pgque = new Pgque(process.env["DATABASE_URL"]);
const worker = new Worker(
  pgque,
  defineQueue(process.argv[2] ?? ""),
  async ({ payload }) => {
    say(String(payload));
    if (payload === "stuck") await new Promise(() => undefined);
  },
  { log: { debug: () => undefined, info: say, warn: () => undefined, error: say } },
);
say(`over ${await runUntilSignal([worker], pgque)}`);
