import type { HeldLock, Pgque, Queue } from "@pgque/client";
import type { ResolvedOptions } from "../resolve-options.ts";
import { pause } from "../connection/pause.ts";

/** A receive takes milliseconds; one that takes that long waits for somebody, who is looked for again as often. */
const lookEveryMs = 2000;

/**
 * Who keeps a worker from receiving: any login of the database can take the lock of its consumer's cursor, and the receive then waits without
 * an error. Looked for on another connection, only while a receive waits.
 */
export class Blockage {
  readonly #pgque: Pgque;
  readonly #queue: Queue;
  readonly #options: ResolvedOptions;

  constructor(pgque: Pgque, queue: Queue, options: ResolvedOptions) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#options = options;
  }

  /** A receive has begun. What is returned is to be called when it has ended. */
  begin(): () => void {
    const over = new AbortController();
    const timer = setTimeout(() => void this.#look(over.signal), lookEveryMs);
    return () => {
      clearTimeout(timer);
      over.abort();
    };
  }

  async #look(over: AbortSignal): Promise<void> {
    const { consumer, watch, log } = this.#options;
    while (!over.aborted) {
      try {
        const locks = await this.#pgque.queues.heldLocks({
          queue: this.#queue,
          longerThanMs: lookEveryMs,
          signal: over,
        });
        const lock = locks.find((held) => held.purpose === "cursor" && held.consumer === consumer);
        const heldBy = lock === undefined ? undefined : inWords(lock);
        if (heldBy !== undefined && heldBy !== watch.blockedBy) {
          log.warn("receive waits for the lock of its consumer's cursor", { queue: this.#queue.name, heldBy });
        }
        watch.blockedBy = heldBy;
      } catch {
        // that there is no answer is said anyway
      }
      await pause(lookEveryMs, over);
    }
  }
}

function inWords({ pid, preparedTransaction, applicationName, role, since }: HeldLock): string {
  const who =
    pid === null
      ? `prepared transaction ${JSON.stringify(preparedTransaction)}`
      : `process ${pid} (${applicationName ? `${applicationName}, ` : ""}user ${role ?? "?"})`;
  const end = pid === null ? "rollback prepared" : `select pg_terminate_backend(${pid})`;
  return `${who} holds the lock of its consumer's cursor since ${since.toISOString()}: ${end} ends that`;
}
