import type { Message } from "@pgque/client";
import { retryAfterMs } from "../connection/backoff.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import type { Outcome } from "./outcome.ts";
import { formatError } from "./format-error.ts";
import { isUnrecoverable } from "./unrecoverable-error.ts";

/** What becomes of a message whose handler failed. */
export function failed(message: Message, error: unknown, options: ResolvedOptions): Outcome {
  options.onFailed?.(message, error);
  const reason = formatError(error);
  if (isUnrecoverable(error)) return { kind: "dead", reason, error };
  const ageMs = options.clock.now() - message.createdAt.getTime();
  if (ageMs > options.maxAgeMs) {
    return { kind: "dead", reason: `older than ${options.maxAgeMs} ms when it failed: ${reason}`, error };
  }
  return { kind: "retry", afterMs: retryAfterMs(message, error, options), reason, error };
}
