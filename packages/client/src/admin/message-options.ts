import { integer, name, text } from "../options/checks.ts";
import type { CallOptions, OptionTable, OptionsOf } from "../options/option.ts";

/** The options of `messages.peek`. */
export const peekOptions = {
  /**
   * What this consumer has not received, in the order in which it would receive it. Default: everything that is kept, whoever has received
   * it, the oldest first.
   */
  consumer: { check: name, absent: "everything that is kept", help: "messages that this consumer has not received" },
  /** For the next page: the `position` of the last message of this. Default: the first page. */
  after: { check: text, absent: "the first page", help: "position of the last message of the page before" },
  /** At most so many. 1 to 1000. Default: 10. */
  max: { check: integer(1, 1000), default: 10, help: "at most so many" },
} satisfies OptionTable;

/** Whose messages are looked at, and which page of them. */
export interface PeekOptions extends OptionsOf<typeof peekOptions>, CallOptions {}

/** The options of `messages.tail`. */
export const tailOptions = {
  /** The `position` that the last call returned. Default: the last `max` messages that are kept, to begin with. */
  after: { check: text, absent: "the last messages that are kept", help: "position that the last call returned" },
  /** At most so many. 1 to 1000. Default: 100. */
  max: { check: integer(1, 1000), default: 100, help: "at most so many" },
} satisfies OptionTable;

/** From where messages are tailed. */
export interface TailOptions extends OptionsOf<typeof tailOptions>, CallOptions {}

/** What was sent since the last look. */
export interface TailPage {
  /** The oldest first. */
  messages: PeekedMessage[];
  /** What `after` takes, to look at what comes next. */
  position: string;
}

/** A message that was looked at. */
export interface PeekedMessage {
  id: string;
  attempt: number;
  /** It is for this consumer alone, a retry; null: for all. */
  consumer: string | null;
  /** It waits until then; null when it does not. */
  dueAt: Date | null;
  type: string;
  /** The JSON as it was sent, not checked by a schema; the text when it is none. */
  payload: unknown;
  headers: Record<string, unknown>;
  createdAt: Date;
  expiresAt: Date | null;
  /** Null on a queue that has none. */
  priority: number | null;
  key: string | null;
  /** What `after` of `peek` takes, to look at what comes behind. */
  position: string;
}

/**
 * Where a message is, for one consumer:
 * `waiting` to be received · `in_flight`: received, in an open batch · `delayed`: sent for a later time · `retrying`: failed or snoozed, to
 * be handed out again · `dead` · `settled`: acked, or given back and since received again or purged · `expired` · `cancelled` · `passed`: the
 * consumer is past it, and nothing else is known.
 */
export type MessageState =
  | "waiting"
  | "in_flight"
  | "delayed"
  | "retrying"
  | "dead"
  | "settled"
  | "expired"
  | "cancelled"
  | "passed";

/** A result that a handler has stored on its way. */
export interface StoredStep {
  step: string;
  /** Undefined: none. */
  result: unknown;
  storedAt: Date;
}

/** What a handler has reported of a message. */
export interface ReportedProgress {
  attempt: number;
  /** `progress`: the value is what the handler gave last. `log`: it is a line. */
  kind: "progress" | "log";
  value: unknown;
  reportedAt: Date;
}

/** What is known of a message for one consumer. What does not belong to its state is null. */
export interface FoundMessage extends Omit<PeekedMessage, "position" | "attempt"> {
  state: MessageState;
  attempt: number | null;
  /** Of `in_flight`: the batch, whose it is, and until when. */
  batchId: string | null;
  worker: string | null;
  leasedUntil: Date | null;
  settledAt: Date | null;
  /** Of `dead`. */
  diedAt: Date | null;
  reason: string | null;
  /** What `deadLetters.redrive` and `purge` take. */
  deadLetterId: string | null;
}
