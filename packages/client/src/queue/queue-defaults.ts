import type { Headers } from "../types.ts";
import { delayMs, sendOptions } from "../send/send-options.ts";
import { check, callable, type Check } from "../options/checks.ts";
import { problemsOf } from "../options/option.ts";

/** What a send to a queue, or a nack of its messages, does unless it says otherwise. Known to this process only, not to the database. */
export interface QueueDefaults<Payload = never, Type extends string = string> {
  /** Sent with every message; those of a send are added, and win where they have the same name. Default: none. */
  headers?: Headers | undefined;
  /** On a queue with `priorities`. Default: 0. */
  priority?: number | undefined;
  /** On a queue with `partitions`: the key of a message, or null for none. Default: none. */
  key?: ((payload: Payload, type: Type) => string | null) | undefined;
  /** The dedupe key of a message, or null for none. Default: none. */
  dedupeKey?: ((payload: Payload, type: Type) => string | null) | undefined;
  /** How long those keys count. 1 to 2592000000 (30 days). Default: 86400000 (a day). */
  dedupeTtlMs?: number | undefined;
  /** On a queue with `allowExpiry`: not delivered from so many milliseconds after it was sent. Default: always delivered. */
  ttlMs?: number | undefined;
  /** How long a message waits that a batch gives back, in milliseconds. 0 to 3153600000000 (100 years). Default: 60000. */
  retryAfterMs?: number | undefined;
}

const callback = callable("a function of the payload");

const checks: Record<keyof QueueDefaults, Check> = {
  headers: sendOptions.headers.check,
  priority: sendOptions.priority.check,
  key: callback,
  dedupeKey: callback,
  dedupeTtlMs: sendOptions.dedupeTtlMs.check,
  ttlMs: sendOptions.ttlMs.check,
  retryAfterMs: delayMs,
};

/** Checks `defaults` of a definition: what is wrong with them, as one sentence. */
export const queueDefaults = check<QueueDefaults>((name, value) => {
  const problems = problemsOf(value, checks);
  return problems.length === 0 ? undefined : problems.map((problem) => `${name}: ${problem}`).join("; ");
});
