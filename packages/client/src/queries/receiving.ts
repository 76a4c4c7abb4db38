import type { Id } from "../options/checks.ts";
import type { Connection } from "../connection/connection.ts";
import { list, milliseconds, type Arguments } from "./values.ts";

/** `messageIds` null: the whole batch. */
function acked(batchId: Id, messageIds: readonly Id[] | null): Arguments {
  return { "batch_id bigint": batchId, ...(messageIds && { "message_ids bigint[]": list(messageIds) }) };
}

export function ack(
  db: Connection,
  batchId: Id,
  messageIds: readonly Id[] | null,
  signal?: AbortSignal,
): Promise<boolean> {
  return db.flag("ack", acked(batchId, messageIds), { signal });
}

export async function ackStrict(
  db: Connection,
  batchId: Id,
  messageIds: readonly Id[] | null,
  signal?: AbortSignal,
): Promise<void> {
  await db.value("ack_strict", acked(batchId, messageIds), { signal });
}

/**
 * Both in one round trip, which takes statements without parameters: what is written into them are numbers. When the ack fails, nothing of the
 * transaction is committed.
 */
export async function ackAndCommit(db: Connection, batchId: Id, messageIds: readonly Id[]): Promise<void> {
  const ack = (s: string): string =>
    `select ${s}.ack_strict(batch_id => ${batchId}, message_ids => '{${messageIds.join(",")}}');`;
  // all may have been acked before, with their results
  await db.script((s) => `${messageIds.length > 0 ? ack(s) : ""} commit`);
}

/** A message that is done, and its result as JSON; null: none. */
export interface JsonResult {
  id: Id;
  json: string | null;
}

export function ackWithResults(
  db: Connection,
  batchId: Id,
  results: readonly JsonResult[],
  strict: boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  const args = {
    "batch_id bigint": batchId,
    "message_ids bigint[]": list(results.map(({ id }) => id)),
    "results text[]": list(results.map(({ json }) => json)),
    "strict boolean": String(strict),
  };
  return db.flag("ack_with_results", args, { signal });
}

export function reportStarted(
  db: Connection,
  batchId: Id,
  messageId: Id,
  alone: boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  const args = { "batch_id bigint": batchId, "message_id bigint": messageId, "alone boolean": String(alone) };
  return db.flag("report_started", args, { idempotent: true, signal });
}

/** What becomes of the messages of a batch, in lists; those of one outcome in parallel. */
export interface Outcomes {
  retryIds: readonly Id[];
  retryAfterMs: readonly number[];
  reasons: readonly (string | null)[];
  releaseIds: readonly Id[];
  snoozeIds: readonly Id[];
  snoozeAfterMs: readonly number[];
  deadIds: readonly Id[];
  deadReasons: readonly (string | null)[];
}

export function settle(db: Connection, batchId: Id, outcomes: Outcomes, signal?: AbortSignal): Promise<boolean> {
  // everything is done, as nearly always: ack has a function of the queue's own, and takes half as long
  if (Object.values(outcomes).every(({ length }: readonly unknown[]) => length === 0))
    return ack(db, batchId, null, signal);
  const args = {
    "batch_id bigint": batchId,
    "retry_ids bigint[]": list(outcomes.retryIds),
    "retry_after interval[]": list(outcomes.retryAfterMs.map(milliseconds)),
    "reasons text[]": list(outcomes.reasons),
    "release_ids bigint[]": list(outcomes.releaseIds),
    "snooze_ids bigint[]": list(outcomes.snoozeIds),
    "snooze_after interval[]": list(outcomes.snoozeAfterMs.map(milliseconds)),
    "dead_ids bigint[]": list(outcomes.deadIds),
    "dead_reasons text[]": list(outcomes.deadReasons),
  };
  return db.flag("settle", args, { signal });
}
