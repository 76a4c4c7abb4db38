import type { Connection } from "../connection/connection.ts";
import type { Id } from "../options/checks.ts";
import { date, epochMs, list, milliseconds, orNull } from "./values.ts";

export async function heartbeat(
  db: Connection,
  workers: readonly string[],
  ttlMs: number,
  session: string | null,
  signal?: AbortSignal,
): Promise<void> {
  await db.rows(
    (s) =>
      `select count(${s}.heartbeat(worker => w.name, ttl => $2::text::interval, session => $3)::text)::text from unnest($1::text::text[]) as w(name)`,
    [list(workers), milliseconds(ttlMs), session],
    { idempotent: true, signal },
  );
}

export function extend(db: Connection, batchId: string, leaseMs: number, signal?: AbortSignal): Promise<boolean> {
  const args = { "batch_id bigint": batchId, "lease interval": milliseconds(leaseMs) };
  return db.flag("extend", args, { idempotent: true, signal });
}

export function storeStep(
  db: Connection,
  { batchId, messageId, step, json }: { batchId: Id; messageId: Id; step: string; json: string | null },
  signal?: AbortSignal,
): Promise<boolean> {
  const args = { "batch_id bigint": batchId, "message_id bigint": messageId, name: step, result: json };
  return db.flag("store_step", args, { idempotent: true, signal });
}

export async function forgetSteps(
  db: Connection,
  named: { queue: string; consumer: string },
  messageIds: readonly Id[],
  signal?: AbortSignal,
): Promise<void> {
  const args = { ...named, "message_ids bigint[]": list(messageIds) };
  await db.value("forget_steps", args, { ...named, idempotent: true, signal });
}

/** What PostgreSQL cannot store as text is replaced. */
export async function reportProgress(
  db: Connection,
  named: { queue: string; consumer: string },
  reports: readonly ProgressReport[],
  signal?: AbortSignal,
): Promise<void> {
  const args = {
    ...named,
    "message_ids bigint[]": list(reports.map((report) => report.id)),
    "attempts int[]": list(reports.map(({ attempt }) => String(attempt))),
    "kinds text[]": list(reports.map(({ kind }) => kind)),
    "reports text[]": list(reports.map(({ value }) => value.replaceAll("\0", "\u{FFFD}").toWellFormed())),
  };
  await db.value("report_progress", args, { ...named, signal });
}

/** What a handler reports of a message: JSON of `progress`, or a line of `log`. */
export interface ProgressReport {
  id: Id;
  attempt: number;
  kind: "progress" | "log";
  value: string;
}

/** Milliseconds by the database's clock; negative when it is overdue. */
export async function nextDueInMs(db: Connection, signal?: AbortSignal): Promise<number | null> {
  const [row] = await db.rows(
    (s) => `select (date_part('epoch', ${s}.next_due_at() - clock_timestamp()) * 1000)::bigint::text as value`,
    [],
    { idempotent: true, signal },
  );
  return orNull(row?.["value"], Number);
}

/** By the database's clock, rounded down to a millisecond: nothing is due by it that is not. */
export async function now(db: Connection, signal?: AbortSignal): Promise<Date> {
  const [row] = await db.rows(() => `select ${epochMs("clock_timestamp()")} as value`, [], {
    idempotent: true,
    signal,
  });
  return date(row?.["value"]);
}

export async function queuesToMaintain(
  db: Connection,
  queues: readonly string[],
  signal?: AbortSignal,
): Promise<Set<string>> {
  const rows = await db.rows(
    (s) => `select n.name from unnest(${s}.queues_to_maintain(queues => $1::text::text[])) as n(name)`,
    [list(queues)],
    { idempotent: true, signal },
  );
  return new Set(rows.map(({ name }) => String(name)));
}
