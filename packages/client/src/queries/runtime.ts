import type { Connection } from "../connection/connection.ts";
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
