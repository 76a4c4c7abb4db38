import { UsageError } from "../output/failure.ts";
import type { LoadedTask } from "./load.ts";

/**
 * The tasks that serve these queues.
 *
 * @throws UsageError naming a queue that none serves, and those that are served
 */
export function tasksFor(tasks: readonly LoadedTask[], queues: readonly string[]): LoadedTask[] {
  const missing = queues.find((name) => !tasks.some(({ queue }) => queue.name === name));
  if (missing === undefined) return tasks.filter(({ queue }) => queues.includes(queue.name));
  const served = [...new Set(tasks.map(({ queue }) => JSON.stringify(queue.name)))].join(", ");
  throw new UsageError(
    `expected --queue to name a queue that a task serves, got: ${JSON.stringify(missing)}; served: ${served}`,
  );
}
