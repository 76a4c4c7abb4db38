import type { Pgque, Queue } from "@pgque/client";
import type { ResolvedOptions } from "./options.ts";
import { repeat } from "./repeat.ts";

/** Where much is delayed something is due all the time; so long at least lies between two rounds, and so long when there is more to do. */
const shortestMs = 100;

/** Maintains the queue at intervals, and when a delayed message becomes due, until it is stopped. Every worker does; one at a time does the work. */
export function startKeeper(
  pgque: Pgque,
  queue: Queue,
  options: ResolvedOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { maintainIntervalMs, log } = options;
  return repeat("maintenance", maintainIntervalMs, log, stopping, async () => {
    if ((await pgque.maintain(queue)) > 0) return shortestMs;
    const dueInMs = await pgque.nextDueInMs();
    return dueInMs === null ? undefined : Math.max(dueInMs, shortestMs);
  });
}
