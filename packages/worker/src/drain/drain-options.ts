import { boolean, expecting, integer, isTime, type OptionsOf, type OptionTable } from "@pgque/client/options";

const sharedOptions = {
  /** Whether a handler that fails ends the call: it rejects with a `DrainError` whose cause is what the handler threw. Default: false. */
  throwOnFailure: { check: boolean, default: false, help: "whether a handler that fails ends the call" },
  /** Aborted, the call receives no more and ends as `stop()` does; it resolves with what was done until then. Default: none. */
  signal: {
    check: expecting<AbortSignal>("an AbortSignal", (value) => value instanceof AbortSignal),
    absent: "none",
    help: "ends the call as `stop()` does",
  },
} satisfies OptionTable;

export const runOnceOptions = {
  ...sharedOptions,
  /** At most so many messages. 1 to 100000. Default: the worker's `prefetch`. */
  max: { check: integer(1, 100_000), absent: "the worker's `prefetch`", help: "at most so many messages" },
} satisfies OptionTable;

/** How a worker runs once. */
export interface RunOnceOptions extends OptionsOf<typeof runOnceOptions> {}

export const drainOptions = {
  ...sharedOptions,
  /**
   * Whether what waits for its time, sent for later or to be tried again, is brought forward and handled too, in the order of the times: all of it,
   * or what is due by a time of the database's clock. It needs `<schema>_admin`. Default: false.
   */
  delayed: {
    check: expecting<boolean | Date>(
      "true, false or a valid Date",
      (value) => typeof value === "boolean" || isTime(value),
    ),
    default: false,
    help: "whether what waits for its time is handled too",
  },
  /**
   * After so many messages the call gives up with a `DrainError`: a handler that always fails, snoozes or sends would keep it going for ever.
   * 1 to 1000000000. Default: 10000 with `delayed`, none without.
   */
  maxMessages: {
    check: integer(1, 1_000_000_000),
    absent: "10000 with `delayed`, none without",
    help: "after so many messages the call gives up",
  },
} satisfies OptionTable;

/** How a worker drains its queue. */
export interface DrainOptions extends OptionsOf<typeof drainOptions> {}

/** How many messages `drain` handles at most when it also brings forward what is delayed, and nobody says how many. */
const delayedMessagesMax = 10_000;

export function messagesMax({ delayed = false, maxMessages }: DrainOptions): number {
  return maxMessages ?? (delayed === false ? Number.POSITIVE_INFINITY : delayedMessagesMax);
}
