import { id, ids } from "../receive/settle-options.ts";
import { boolean, callChecks, integer, name, text, time, type CallOptions, type Check } from "../validation/options.ts";

/** Which dead letters of a queue are meant: those that fit everything that is given. */
export interface DeadLetterFilter {
  /** They died for this consumer. */
  consumer?: string | undefined;
  /** They are of this type. */
  type?: string | undefined;
  /** Their reason is like this: a pattern of SQL's LIKE, `%timeout%`. */
  reasonLike?: string | undefined;
  /** They died at this time or later. */
  diedAfter?: Date | undefined;
  /** They died before this time. */
  diedBefore?: Date | undefined;
}

/** Which dead letters are listed, and which page of them. */
export interface ListDeadLettersOptions extends DeadLetterFilter, CallOptions {
  /** For the next page: the `id` of the last one of this. */
  beforeId?: string | undefined;
  /** At most so many. 1 to 1000. Default: 100. */
  max?: number | undefined;
}

/** Which dead letters are thrown away. */
export interface PurgeDeadLettersOptions extends DeadLetterFilter, CallOptions {
  /** All of the queue: must be said when there is no filter, so that one that came out undefined does not mean it. Default: false. */
  all?: boolean | undefined;
  /** Dead letters by their `id`. */
  ids?: readonly string[] | undefined;
  /** At most so many, the oldest first, so that many are not one transaction. 1 to 100000. Default: all. */
  max?: number | undefined;
}

/** Which dead letters are sent again. */
export interface RedriveOptions extends PurgeDeadLettersOptions {
  /** At most so many, the oldest first. 1 to 100000. Default: 100000. */
  max?: number | undefined;
}

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

const filterChecks: Record<keyof DeadLetterFilter, Check> = {
  consumer: name,
  type: text,
  reasonLike: text,
  diedAfter: time,
  diedBefore: time,
};

export const listChecks: Record<keyof ListDeadLettersOptions, Check> = {
  ...filterChecks,
  beforeId: id,
  max: integer(1, 1000),
  ...callChecks,
};

export const purgeChecks: Record<keyof PurgeDeadLettersOptions, Check> = {
  all: boolean,
  ids,
  max: integer(1, 100_000),
  ...filterChecks,
  ...callChecks,
};

/** Whether something says which are meant. */
export function scopeProblem(options: PurgeDeadLettersOptions): string | undefined {
  const named = ["ids", ...Object.keys(filterChecks)].some((name) => Reflect.get(Object(options), name) !== undefined);
  return named === (options?.all === true)
    ? "expected a filter, or `all: true` for all of the queue" + (named ? ", got both" : "")
    : undefined;
}
