import type { Message } from "@pgque/client";
import type { Outcome } from "../execute/outcome.ts";
import type { Events } from "./events.ts";

/** Tells what became of a message. `begunAtMs`: when its handler was called, by `performance.now()`; undefined when it was not. */
export function report(events: Events, message: Message, outcome: Outcome, begunAtMs: number | undefined): void {
  if (events.isSilent) return;
  const durationMs = begunAtMs === undefined ? 0 : performance.now() - begunAtMs;
  switch (outcome.kind) {
    case "done":
      return events.emit("done", () => ({ message, durationMs }));
    case "snooze":
      return events.emit("snoozed", () => ({ message, afterMs: outcome.afterMs, durationMs }));
    case "release":
      return events.emit("released", () => ({ message }));
    case "retry":
      return events.emit("failed", () => ({ message, error: outcome.error, outcome, durationMs }));
    case "dead":
      events.emit("failed", () => ({ message, error: outcome.error, outcome, durationMs }));
      return events.emit("deadLettered", () => ({ message, reason: outcome.reason, error: outcome.error }));
  }
}
