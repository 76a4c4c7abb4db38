import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { closing, type Failure, NotRun } from "../../runner/failure.ts";
import { dueOf } from "../../load/messages.ts";
import type { Handle, OpenWorker, RunningSystem, Send, Store, Workload } from "../adapter.ts";

/**
 * Loads an optional peer when a trial needs it: the one beside the benchmark, else that of the working directory. The benchmark may be in npm's
 * cache, where nothing is beside it.
 *
 * @param packages as `npm install` takes them, the one that is loaded first
 * @throws NotRun when it is not installed
 */
export async function peer<Module>(packages: [string, ...string[]], load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const file = inWorkingDirectory(packages[0].replace(/@[^@]*$/, ""));
    if (file !== undefined) return (await import(pathToFileURL(file).href)) as Module;
    throw new NotRun(`${packages.join(" or ")} is not installed: npm install ${packages.join(" ")}`);
  }
}

function inWorkingDirectory(name: string): string | undefined {
  try {
    return createRequire(path.join(process.cwd(), "package.json")).resolve(name);
  } catch {
    return undefined;
  }
}

/** What sends: one message by the call for one, others by that for many. */
export interface LibraryQueue {
  send: (messages: readonly unknown[]) => Promise<unknown>;
  close: Store["close"];
}

/** A worker of a library, which handles messages between `start` and `stop` and is not used again. */
export type LibraryWorker = Pick<OpenWorker, "start" | "stop">;

/** A library under a load of the harness. Producers of one process share what sends, as documentations have it. */
export function underLoad(
  workload: Workload,
  failure: Failure,
  queue: LibraryQueue,
  open: (handle: Handle) => Promise<LibraryWorker>,
): RunningSystem & { consumers: { kind: "pushed" } } {
  const consumers = pushed(workload, failure, open);
  const send: Send = async (payloads) => {
    await queue.send(payloads.map((payload): unknown => JSON.parse(payload)));
  };
  return {
    send: Array.from({ length: workload.producers }, () => send),
    consumers,
    maintain: failure.check,
    close: closing(() => consumers.stop(), queue.close),
  };
}

/**
 * A worker for each consumer, opened anew whenever the harness starts them. A message counts as finished when its handler returns:
 * what becomes of it afterwards the library tells nobody, unless it fails.
 */
export function pushed(
  { consumers, tally }: Workload,
  failure: Failure,
  open: (handle: Handle) => Promise<LibraryWorker>,
): RunningSystem["consumers"] & { kind: "pushed" } {
  const workers: LibraryWorker[] = [];
  const handle = (payload: unknown): void => {
    tally.received(dueOf(payload));
    tally.finished(1);
  };
  return {
    kind: "pushed",
    async start() {
      await Promise.all(Array.from({ length: consumers }, async () => workers.push(await open(handle))));
      await Promise.all(workers.map((worker) => worker.start()));
    },
    async stop() {
      await Promise.all(workers.splice(0).map((worker) => worker.stop()));
      await failure.check();
    },
  };
}
