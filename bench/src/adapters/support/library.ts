import { closing, type Failure, NotRun } from "../../runner/failure.ts";
import { dueOf } from "../../load/messages.ts";
import type { Handle, OpenWorker, RunningSystem, Send, Store, Workload } from "../adapter.ts";

/**
 * Loads an optional peer when a cell needs it.
 *
 * @param packages as `npm install` takes them
 * @throws NotRun when it is not installed
 */
export async function peer<Module>(packages: string[], load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new NotRun(`${packages.join(" or ")} is not installed: npm install ${packages.join(" ")}`);
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
