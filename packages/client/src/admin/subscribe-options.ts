import {
  boolean,
  callChecks,
  integer,
  nullable,
  oneOf,
  show,
  type CallOptions,
  type Check,
} from "../validation/options.ts";

/** A place in the log of a queue. */
export type Position = "earliest" | "latest" | Date;

/** How much a consumer receives. */
export interface ConsumerLimits {
  /** How many of its messages may be received and not settled, in all workers together. At least 1. Default: no limit. */
  maxInFlight?: number | undefined;
  /** How many messages it may receive at once, and as many again, evenly, in each `ratePeriodMs`. At least 1. Default: no limit. */
  rateLimit?: number | undefined;
  /** 1 to 86400000 (a day). Default: 1000. */
  ratePeriodMs?: number | undefined;
}

/** Where a consumer begins, and how it receives. */
export interface SubscribeOptions extends ConsumerLimits, CallOptions {
  /** Where a new consumer begins; a time means the first message kept that was sent at or after it, and all behind that. Default: the first consumer of a queue at the earliest message kept, later ones with what is sent from now on. */
  from?: Position | undefined;
  /**
   * `shared`: any number of workers, each with batches of its own. `exclusive`: one batch at a time, in the order of the log, handed out again
   * on every receive until it is finished. `ordered`, on a queue with `partitions`: one batch at a time of each lane, so that messages of
   * one key are handled in order. Workers refuse exclusive ones. Default: `shared`.
   */
  mode?: "shared" | "exclusive" | "ordered" | undefined;
  /** What a failed message does to the lane of an ordered consumer: `block` it until it is tried again, or be skipped and come later. Default: `block`. */
  onFailure?: "block" | "skip" | undefined;
  /** Fail with OPTIONS_DIFFER when the consumer is there with other options than these; `from` counts for a new one alone. Default: false. */
  strict?: boolean | undefined;
}

const dayMs = 86_400_000;

/** What can be changed of a consumer. Null: no limit, or the default again. */
export type ConsumerChanges = CallOptions & {
  [Name in "onFailure" | keyof ConsumerLimits]?: SubscribeOptions[Name] | null;
};

const changeable: Record<Exclude<keyof ConsumerChanges, "signal">, Check> = {
  onFailure: oneOf("block", "skip"),
  maxInFlight: integer(1, 2_147_483_647),
  rateLimit: integer(1, 2_147_483_647),
  ratePeriodMs: integer(1, dayMs),
};

export const subscribeChecks: Record<keyof SubscribeOptions, Check> = {
  from,
  mode: oneOf("shared", "exclusive", "ordered"),
  ...changeable,
  strict: boolean,
  ...callChecks,
};

export const consumerChecks: Record<keyof ConsumerChanges, Check> = { ...nullable(changeable), ...callChecks };

/** The limits in the words of the SQL functions; null stays null. */
export function limitWords(limits: ConsumerChanges): Record<string, unknown> {
  const { maxInFlight, rateLimit, ratePeriodMs } = limits;
  return {
    max_in_flight: maxInFlight,
    rate_limit: rateLimit,
    rate_period: typeof ratePeriodMs === "number" ? ratePeriodMs / 1000 : ratePeriodMs,
  };
}

export function from(name: string, value: unknown): string | undefined {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return undefined;
  return (
    oneOf("earliest", "latest")(name, value) &&
    `expected \`${name}\` to be "earliest", "latest" or a valid Date, got: ${show(value)}`
  );
}
