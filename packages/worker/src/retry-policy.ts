import { inspect } from "node:util";
import type { Message } from "@pgque/client";
import { retryAfterMs } from "./backoff.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import { isUnrecoverable } from "./unrecoverable-error.ts";

/** A reason is read by people and kept with the dead letter; a whole response body in it helps nobody. */
const messageCharsMax = 2000;
const stackCharsMax = 4000;

/** What becomes of a message whose handler failed. */
export function failed(message: Message, error: unknown, options: ResolvedOptions): Outcome {
  options.onFailed?.(message, error);
  const reason = reasonOf(error);
  if (isUnrecoverable(error)) return { kind: "dead", reason, error };
  const ageMs = options.clock.now() - message.createdAt.getTime();
  if (ageMs > options.maxAgeMs) {
    return { kind: "dead", reason: `older than ${options.maxAgeMs} ms when it failed: ${reason}`, error };
  }
  return { kind: "retry", afterMs: retryAfterMs(message, error, options), reason, error };
}

/** The error's message, and below it where it was thrown. */
function reasonOf(error: unknown): string {
  if (typeof error === "string") return shortened(error, messageCharsMax);
  if (!(error instanceof Error)) return shortened(inspect(error), messageCharsMax);
  const message = shortened(error.message || error.name, messageCharsMax);
  const frames = error.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
  return frames.length === 0 ? message : `${message}\n${shortened(frames.join("\n"), stackCharsMax)}`;
}

function shortened(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text;
}
