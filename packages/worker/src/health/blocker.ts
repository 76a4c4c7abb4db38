import type { HeldLock, Pgque, Queue } from "@pgque/client";
import type { ResolvedOptions } from "../resolve-options.ts";
import { pause } from "../connection/pause.ts";

/** A receive takes milliseconds; one that takes that long waits for somebody, who is looked for again as often. */
const lookEveryMs = 2000;

/**
 * Looks for who keeps a worker from receiving, while a receive waits: any login of the database can take the lock of its consumer's cursor, and the
 * receive then waits without an error. It looks on another connection. What is returned is to be called when the receive has ended.
 */
export function watchForBlocker(pgque: Pgque, queue: Queue, options: ResolvedOptions): () => void {
  // made for a receive that takes long: to abort one costs more than all else here
  let over: AbortController | undefined;
  const timer = setTimeout(() => {
    over = new AbortController();
    void look(pgque, queue, options, over.signal);
  }, lookEveryMs);
  return () => {
    clearTimeout(timer);
    over?.abort();
  };
}

async function look(
  pgque: Pgque,
  queue: Queue,
  { consumer, watch, log }: ResolvedOptions,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    try {
      const locks = await pgque.queues.heldLocks({ queue, longerThanMs: lookEveryMs, signal: over });
      const lock = locks.find((held) => held.purpose === "cursor" && held.consumer === consumer);
      const heldBy = lock === undefined ? undefined : inWords(lock);
      if (heldBy !== undefined && heldBy !== watch.blockedBy) {
        log.warn("receive waits for the lock of its consumer's cursor", { queue: queue.name, heldBy });
      }
      watch.blockedBy = heldBy;
    } catch {
      // that there is no answer is said anyway
    }
    await pause(lookEveryMs, over);
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
