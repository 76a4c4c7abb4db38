import type { Logger } from "@pgque/worker";
import { counted } from "../output/text.ts";
import type { StopSignals } from "../signals.ts";
import type { Fleet } from "./fleet.ts";

/**
 * Drains the queues and logs the outcomes. Retries are left for later.
 *
 * @throws Error when a message became a dead letter, or when it was stopped before all was done
 */
export async function runOnce(fleet: Fleet, { first, second }: StopSignals, log: Logger): Promise<void> {
  const stop = new AbortController();
  void first.then(() => stop.abort());
  void second.then(() => fleet.force());
  try {
    const summary = await fleet.drain(stop.signal);
    log.info("drained", summary);
    if (summary.dead > 0) {
      throw new Error(
        `${counted(summary.dead, "message")} failed for good and ${summary.dead === 1 ? "is a dead letter" : "are dead letters"}. ` +
          "pgque dlq list QUEUE shows why, pgque dlq redrive QUEUE sends them again",
      );
    }
    if (stop.signal.aborted) throw new Error("stopped before the queues were drained: open messages were released");
  } finally {
    await fleet.stop();
  }
}
