import { Command } from "commander";
import type { Pgque } from "@pgque/client";
import type { Worker } from "@pgque/worker";
import { connectionConfig, type DatabaseFlags, withDatabase } from "../connection.ts";
import { lineLogger } from "../output/log.ts";
import { stopRequested } from "../signals.ts";
import { loadTasks, type LoadedTask } from "../tasks/load.ts";

interface Flags extends DatabaseFlags {
  verbose?: true;
}

const more = `
Each file in the folder is a task and serves the queue named like it, so tasks/orders.ts serves "orders". TypeScript runs as
it is, with type annotations only (no enum, no namespace). A file exports a function by default:

  export default async (message, { signal, log, attempt }) => {
    await charge(message.payload.orderId, { signal });
  };

or an object, for a typed queue and the options of a worker (concurrency, consumer, …):

  import { defineTask } from "pgque";
  export default defineTask({ queue: orders, concurrency: 50, handler: async ({ payload }) => { … } });

What a handler throws has its message tried again after a while. Files that begin with "_", tests and folders are not tasks.

SIGTERM or Ctrl-C: receives no more, waits for the handlers under way (30 s), exits with 0. Once more: exits at once with 1.

Examples:
  pgque worker tasks/
  pgque worker dist/tasks --database-url postgres://app@localhost/app`;

/** The `worker` command. */
export function workerCommand(): Command {
  return withDatabase(new Command("worker"))
    .description("Run the handlers in a folder until told to stop.")
    .argument("<folder>", "folder of task files")
    .option("--verbose", "also log what handlers log as debug")
    .addHelpText("after", more)
    .action(work);
}

async function work(folder: string, flags: Flags): Promise<void> {
  const config = connectionConfig(flags);
  const tasks = await loadTasks(folder);
  const [{ Pgque }, { Worker }] = await Promise.all([import("@pgque/client"), import("@pgque/worker")]);
  const log = lineLogger((line) => process.stdout.write(`${line}\n`), flags);
  // each worker receives, settles, beats and maintains, one connection each at most
  const pgque = new Pgque({ ...config, max: 4 * tasks.length }, { schema: flags.schema });
  try {
    const workers = tasks.map((task) => makeWorker(Worker, pgque, task, log));
    const requested = stopRequested();
    try {
      await Promise.race([Promise.all(workers.map((worker) => worker.start())), requested]);
      const signal = await requested;
      log.info("stopping, a second signal stops at once", { signal });
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
    }
  } finally {
    await pgque.close();
  }
}

function makeWorker(
  Class: typeof Worker,
  pgque: Pgque,
  { file, queue, handler, options }: LoadedTask,
  log: ReturnType<typeof lineLogger>,
): Worker {
  try {
    return new Class(pgque, queue, handler, { ...options, log });
  } catch (cause) {
    throw new Error(`could not run ${file}`, { cause });
  }
}
