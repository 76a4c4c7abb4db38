import { boolean, integer, name, text, time } from "../options/checks.ts";
import type { CallOptions, OptionTable, OptionsOf } from "../options/option.ts";
import { id, ids } from "../options/checks.ts";

/** The options that say which dead letters are meant. */
export const deadLetterOptions = {
  /** They died for this consumer. Default: for any. */
  consumer: { check: name, absent: "any", help: "that died for this consumer" },
  /** They are of this type. Default: of any. */
  type: { check: text, absent: "any", help: "of this type" },
  /** Their reason is like this: a pattern of SQL's LIKE, `%timeout%`. Default: any reason or none. */
  reasonLike: { check: text, absent: "any", help: "whose reason is like this pattern of SQL's LIKE" },
  /** They died at this time or later. Default: at any time. */
  diedAfter: { check: time, absent: "any", help: "that died at this time or later" },
  /** They died before this time. Default: at any time. */
  diedBefore: { check: time, absent: "any", help: "that died before this time" },
} satisfies OptionTable;

/** Which dead letters of a queue are meant: those that fit everything that is given. */
export interface DeadLetterFilter extends OptionsOf<typeof deadLetterOptions> {}

export const listOptions = {
  ...deadLetterOptions,
  /** For the next page: the `id` of the last one of this. Default: the first page. */
  beforeId: { check: id, absent: "the first page", help: "id of the last one of the page before" },
  /** At most so many. 1 to 1000. Default: 100. */
  max: { check: integer(1, 1000), default: 100, help: "at most so many" },
} satisfies OptionTable;

/** Which dead letters are listed, and which page of them. */
export interface ListDeadLettersOptions extends OptionsOf<typeof listOptions>, CallOptions {}

export const purgeOptions = {
  /** All of the queue: must be said when there is no filter, so that one that came out undefined does not mean it. Default: false. */
  all: { check: boolean, default: false, help: "all of the queue" },
  /** Dead letters by their `id`. Default: those that fit the filter. */
  ids: { check: ids, absent: "those that fit", help: "dead letters by their id" },
  /** At most so many, the oldest first, so that many are not one transaction. 1 to 100000. Default: all. */
  max: { check: integer(1, 100_000), absent: "all", help: "at most so many, the oldest first" },
  ...deadLetterOptions,
} satisfies OptionTable;

/** Which dead letters are thrown away. */
export interface PurgeDeadLettersOptions extends OptionsOf<typeof purgeOptions>, CallOptions {}

export const redriveOptions = {
  ...purgeOptions,
  /** At most so many, the oldest first. 1 to 100000. Default: 100000. */
  max: { ...purgeOptions.max, default: 100_000 },
} satisfies OptionTable;

/** Which dead letters are sent again. */
export interface RedriveOptions extends OptionsOf<typeof redriveOptions>, CallOptions {}

/** A message whose attempts were used up, or that was buried. */
export interface DeadLetter {
  /** Of the dead letter: a message has one for each consumer that it died for. */
  id: string;
  consumer: string;
  messageId: string;
  /** The attempt that was its last. */
  attempt: number;
  type: string;
  /** The JSON as it was sent, not checked by a schema; the text when it is none. */
  payload: unknown;
  headers: Record<string, unknown>;
  /** Null on a queue that has none. */
  priority: number | null;
  key: string | null;
  reason: string | null;
  /** When it was sent. */
  createdAt: Date;
  diedAt: Date;
}

/** Whether something says which are meant. */
export function scopeProblem(options: PurgeDeadLettersOptions): string | undefined {
  const named = ["ids", ...Object.keys(deadLetterOptions)].some(
    (name) => Reflect.get(Object(options), name) !== undefined,
  );
  return named === (options?.all === true)
    ? "expected a filter, or `all: true` for all of the queue" + (named ? ", got both" : "")
    : undefined;
}
