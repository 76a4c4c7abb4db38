import type { OptionDifference, Pgque, Queue } from "@pgque/client";
import type { ResolvedOptions } from "./resolve-options.ts";
import { declareSchedules } from "./schedule/declared.ts";

/**
 * What is done before a worker receives: queue, consumer and schedules are there after it. What is there already stays as it is. The signal is
 * that of a stop that waits no longer; it throws what the database throws.
 */
export type Prepare = (signal: AbortSignal) => Promise<void>;

/** Of a worker, which may be started often: that its options differ is said once. */
export function preparation(pgque: Pgque, queue: Queue, options: ResolvedOptions): Prepare {
  const { consumer, mode, onFailure, schedules, attempts, queryTimeoutMs, log } = options;
  let said = "";
  return async (signal) => {
    const { differences } = await pgque.ensure(queue, { signal });
    const settings = mode === "ordered" ? { mode, onFailure } : {};
    const reader = await pgque.subscribe(queue, consumer, { ...settings, signal });
    const differing = [...differences, ...reader.differences].map(inWords).join("; ");
    if (differing !== "" && differing !== said)
      log.warn(
        "the database has other options than the definition, and keeps them: change them with `pgque.queues.change` or `pgque.consumers.change`, or change the definition",
        { differences: differing },
      );
    said = differing;
    if (reader.skipped > 0)
      log.warn(
        `the consumer is new and begins with what is sent from now on, so it skips messages: subscribe it from "earliest" before its first worker starts, or bring them now with \`pgque.consumers.seek(queue, consumer, "earliest")\``,
        { skipped: reader.skipped > 10_000 ? "more than 10,000" : String(reader.skipped) },
      );
    await attempts.read(pgque, queue, queryTimeoutMs, signal);
    await declareSchedules(pgque, queue, schedules, signal);
  };
}

function inWords({ option, wanted, found }: OptionDifference): string {
  return `${option} is ${found ?? "none"}, not ${wanted}`;
}
