import type { Connection } from "../connection/connection.ts";
import { list, milliseconds } from "./values.ts";

export function ack(db: Connection, batchId: string, signal?: AbortSignal): Promise<boolean> {
  return db.flag((s) => `select ${s}.ack(batch_id => $1::text::bigint) as value`, [batchId], {
    signal,
  });
}

export function ackMessages(
  db: Connection,
  batchId: string,
  messageIds: readonly string[],
  signal?: AbortSignal,
): Promise<boolean> {
  return db.flag(
    (s) => `select ${s}.ack(batch_id => $1::text::bigint, message_ids => $2::text::bigint[]) as value`,
    [batchId, list(messageIds)],
    { signal },
  );
}

export async function ackStrict(
  db: Connection,
  batchId: string,
  messageIds: readonly string[] | null,
  signal?: AbortSignal,
): Promise<void> {
  await db.rows(
    (s) => `select ${s}.ack_strict(batch_id => $1::text::bigint, message_ids => $2::text::bigint[])::text`,
    [batchId, messageIds && list(messageIds)],
    { signal },
  );
}

/**
 * Both in one round trip, which takes statements without parameters: what is written into them are numbers. When the ack fails, nothing of the
 * transaction is committed.
 */
export async function ackAndCommit(db: Connection, batchId: string, messageIds: readonly string[]): Promise<void> {
  await db.script(
    (s) => `select ${s}.ack_strict(batch_id => ${batchId}, message_ids => '{${messageIds.join(",")}}'); commit`,
  );
}

export function nack(
  db: Connection,
  batchId: string,
  messageIds: readonly string[],
  how: { retryAfterMs: number; reason: string | null },
  signal?: AbortSignal,
): Promise<number> {
  return db.count(
    (s) =>
      `select ${s}.nack(batch_id => $1::text::bigint, message_ids => $2::text::bigint[], retry_after => $3::text::interval, reason => $4) as value`,
    [batchId, list(messageIds), milliseconds(how.retryAfterMs), how.reason],
    { signal },
  );
}

export function snooze(
  db: Connection,
  batchId: string,
  messageIds: readonly string[],
  afterMs: number,
  signal?: AbortSignal,
): Promise<number> {
  return db.count(
    (s) =>
      `select ${s}.snooze(batch_id => $1::text::bigint, message_ids => $2::text::bigint[], snooze_after => $3::text::interval) as value`,
    [batchId, list(messageIds), milliseconds(afterMs)],
    { signal },
  );
}

export function bury(
  db: Connection,
  batchId: string,
  messageIds: readonly string[],
  reason: string | null,
  signal?: AbortSignal,
): Promise<number> {
  return db.count(
    (s) =>
      `select ${s}.bury(batch_id => $1::text::bigint, message_ids => $2::text::bigint[], reason => $3::text) as value`,
    [batchId, list(messageIds), reason],
    { signal },
  );
}

export function tellBegun(
  db: Connection,
  batchId: string,
  messageId: string,
  alone: boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  return db.flag(
    (s) =>
      `select ${s}.tell_begun(batch_id => $1::text::bigint, message_id => $2::text::bigint, alone => $3::text::boolean) as value`,
    [batchId, messageId, String(alone)],
    { idempotent: true, signal },
  );
}

/** What becomes of the messages of a batch, in lists; those of one outcome in parallel. */
export interface Outcomes {
  retryIds: readonly string[];
  retryAfterMs: readonly number[];
  reasons: readonly (string | null)[];
  releaseIds: readonly string[];
  snoozeIds: readonly string[];
  snoozeAfterMs: readonly number[];
  deadIds: readonly string[];
  deadReasons: readonly (string | null)[];
}

export function settle(db: Connection, batchId: string, outcomes: Outcomes, signal?: AbortSignal): Promise<boolean> {
  // everything is done, as nearly always: ack has a function of the queue's own, and takes half as long
  if (Object.values(outcomes).every(({ length }: readonly unknown[]) => length === 0)) return ack(db, batchId, signal);
  return db.flag(
    (s) => `
      select ${s}.settle(batch_id => $1::text::bigint,
                         retry_ids => $2::text::bigint[], retry_after => $3::text::interval[], reasons => $4::text::text[],
                         release_ids => $5::text::bigint[],
                         snooze_ids => $6::text::bigint[], snooze_after => $7::text::interval[],
                         dead_ids => $8::text::bigint[], dead_reasons => $9::text::text[]) as value`,
    [
      batchId,
      list(outcomes.retryIds),
      list(outcomes.retryAfterMs.map(milliseconds)),
      list(outcomes.reasons),
      list(outcomes.releaseIds),
      list(outcomes.snoozeIds),
      list(outcomes.snoozeAfterMs.map(milliseconds)),
      list(outcomes.deadIds),
      list(outcomes.deadReasons),
    ],
    { signal },
  );
}
