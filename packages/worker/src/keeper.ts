import type { Pgque, Queue } from "@pgque/client";
import type { ResolvedOptions } from "./options.ts";
import { repeat } from "./repeat.ts";

/** Maintains the queue at intervals. Every worker does; one at a time does the work. */
export function startKeeper(pgque: Pgque, queue: Queue, options: ResolvedOptions, stopping: AbortSignal): void {
  const { maintainIntervalMs, log } = options;
  void repeat("maintenance", maintainIntervalMs, log, stopping, async () => {
    await pgque.maintain(queue);
  });
}
