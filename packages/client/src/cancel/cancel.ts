import type { MessageState } from "../admin/message-options.ts";
import type { Connection } from "../connection/connection.ts";
import { type Id, ids as areIds, name, text } from "../options/checks.ts";
import { callProblems, refuse, type CallOptions, type OptionTable, type OptionsOf } from "../options/option.ts";
import { listed, orNull, readRow, text as textColumn } from "../queries/columns.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";

/** The options of `cancel` and `cancelByKey`. */
export const cancelOptions = {
  /** For this consumer alone. Default: for all, those that subscribe later too. */
  consumer: { check: name, absent: "all", help: "for this consumer alone" },
} satisfies OptionTable;

/** For whom messages are cancelled. */
export interface CancelOptions extends OptionsOf<typeof cancelOptions>, CallOptions {}

/** What became of one message for one consumer. */
export interface Cancellation {
  id: string;
  /** Null: nobody has subscribed. */
  consumer: string | null;
  /**
   * `cancelled`: it is not delivered, also when it was cancelled before · `in_flight`: a worker has it, it was too late · `dead`, `settled`,
   * `expired`, `passed`: as `messages.find` says them · `unknown`: the queue has no such message, or none any more.
   */
  state: Extract<MessageState, "cancelled" | "in_flight" | "dead" | "settled" | "expired" | "passed"> | "unknown";
}

export async function cancel(
  db: Connection,
  queue: QueueRef,
  ids: Id | readonly Id[],
  options: CancelOptions,
): Promise<Cancellation[]> {
  const all = Array.isArray(ids) ? (ids as readonly Id[]) : [ids as Id];
  refuse("cancel", [areIds("ids", all), ...callProblems(options, cancelOptions)]);
  return cancelledMessages(db, queueOf("cancel", queue).name, "cancel", all.map(String), options);
}

export async function cancelByKey(
  db: Connection,
  queue: QueueRef,
  keys: string | readonly string[],
  options: CancelOptions,
): Promise<Cancellation[]> {
  const all = typeof keys === "string" ? [keys] : keys;
  refuse("cancelByKey", [...all.map((key, i) => text(`keys[${i}]`, key)), ...callProblems(options, cancelOptions)]);
  return cancelledMessages(db, queueOf("cancelByKey", queue).name, "cancel_by_key", [...all], options);
}

const columns = {
  id: textColumn("c.message_id"),
  consumer: orNull(textColumn("c.consumer")),
  state: textColumn<Cancellation["state"]>("c.state"),
};

/** Cancels by id or by dedupe key. It may be called again: what is cancelled stays so, and is said to be. */
async function cancelledMessages(
  db: Connection,
  queue: string,
  by: "cancel" | "cancel_by_key",
  wanted: string[],
  { consumer, signal }: CancelOptions,
): Promise<Cancellation[]> {
  const type = by === "cancel" ? "bigint[]" : "text[]";
  const rows = await db.rows(
    (s) => `select ${listed(columns)} from ${s}.${by}($1, $2::text[]::${type}, $3) c`,
    [queue, wanted, consumer ?? null],
    { queue, consumer, idempotent: by === "cancel", signal },
  );
  return rows.map((row) => readRow(columns, row));
}
