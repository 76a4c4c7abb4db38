import { boolean, expecting, integer, isTime, oneOf } from "../options/checks.ts";
import type { CallOptions, ChangesOf, OptionTable, OptionsOf } from "../options/option.ts";

/** A place in the log of a queue. */
export type Position = "earliest" | "latest" | Date;

export const positionCheck = expecting<Position>(
  '"earliest", "latest" or a valid Date',
  (value) => value === "earliest" || value === "latest" || isTime(value),
);

const int4Max = 2_147_483_647;

export const limitOptions = {
  /** How many of its messages may be received and not settled, in all workers together. At least 1. Default: no limit. */
  maxInFlight: {
    check: integer(1, int4Max),
    absent: "no limit",
    help: "messages received and not settled, in all workers together",
  },
  /**
   * How many messages of one key may be received and not settled, in all workers together, 1 to 100: of a shared consumer of a queue with `partitions`.
   * Messages of one key may be handled at once and out of order. Keys of one partition share the limit, so have many partitions. Default: no limit.
   */
  maxInFlightPerKey: {
    check: integer(1, 100),
    absent: "no limit",
    help: "messages of one key received and not settled, of a shared consumer of a queue with partitions",
  },
  /** How many messages it may receive at once, and as many again, evenly, in each `ratePeriodMs`. At least 1. Default: no limit. */
  rateLimit: {
    check: integer(1, int4Max),
    absent: "no limit",
    help: "so many messages at once, and as many again, evenly, in each period",
  },
  /** 1 to 86400000 (a day). Default: 1000 (1 s). */
  ratePeriodMs: { check: integer(1, 86_400_000), default: 1000, help: "the period of the rate limit" },
} satisfies OptionTable;

/** How much a consumer receives. */
export interface ConsumerLimits extends OptionsOf<typeof limitOptions> {}

export const changeableOptions = {
  /** What a failed message does to the lane of an ordered consumer: `block` it until it is tried again, or be skipped and come later. Default: `block`. */
  onFailure: {
    check: oneOf("block", "skip"),
    default: "block",
    help: "what a failed message does to its lane, of an ordered consumer",
  },
  ...limitOptions,
} satisfies OptionTable;

/** What can be changed of a consumer. Null: no limit, or the default again. */
export interface ConsumerChanges extends ChangesOf<typeof changeableOptions>, CallOptions {}

/** The options of `subscribe`. */
export const consumerOptions = {
  /**
   * `shared`: any number of workers, each with batches of its own. `exclusive`: one batch at a time, in the order of the log, handed out again
   * on every receive until it is finished. `ordered`, on a queue with `partitions`: one batch at a time of each lane, so that messages of
   * one key are handled in order. Workers refuse exclusive ones. Default: `shared`; `exclusive` for a consumer made in SQL.
   */
  mode: {
    check: oneOf("shared", "exclusive", "ordered"),
    default: "shared",
    defaultInSql: "exclusive",
    help: "`shared`: any number of batches; `exclusive`: one at a time; `ordered`: one at a time of each lane",
  },
  /** Where a new consumer begins; a time means the first message kept that was sent at or after it, and all behind that. Default: the first consumer of a queue at the earliest message kept, later ones with what is sent from now on. */
  from: {
    check: positionCheck,
    absent: "earliest for the first consumer, else latest",
    help: "where a new consumer begins: earliest, latest or a time",
  },
  ...changeableOptions,
  /** Fail with OPTIONS_DIFFER when the consumer is there with other options than these; `from` counts for a new one alone. Default: false. */
  strict: { check: boolean, default: false, help: "fail when the consumer is there with other options" },
} satisfies OptionTable;

/** Where a consumer begins, and how it receives. */
export interface SubscribeOptions extends OptionsOf<typeof consumerOptions>, CallOptions {}
