import { dueOf } from "../../load/payload.ts";
import type { Failure } from "../../failure.ts";
import type { Consumers, Workload } from "../adapter.ts";

/** A worker of a library, which handles messages between `start` and `stop` and is not used again. */
export interface LibraryWorker {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What a library calls with the payload of a message. */
export type HandlePayload = (payload: unknown) => void;

/**
 * A worker for each consumer, opened anew whenever the harness starts them. A message counts as finished when its handler returns:
 * what becomes of it afterwards the library tells nobody, unless it fails.
 */
export function pushed(
  { consumers, tally }: Workload,
  failure: Failure,
  open: (handle: HandlePayload) => Promise<LibraryWorker>,
): Consumers & { kind: "pushed" } {
  const workers: LibraryWorker[] = [];
  const handle: HandlePayload = (payload) => {
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
