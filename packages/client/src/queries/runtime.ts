import type { Connection } from "../connection/connection.ts";
import { list, milliseconds } from "./values.ts";

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
  return db.flag(
    (s) => `select ${s}.extend(batch_id => $1::text::bigint, lease => $2::text::interval) as value`,
    [batchId, milliseconds(leaseMs)],
    { idempotent: true, signal },
  );
}

export function holdSession(db: Connection, session: string): Promise<boolean> {
  return db.flag((s) => `select ${s}.hold_session(session => $1)::text as value`, [session]);
}

/** Milliseconds by the database's clock; negative when it is overdue. */
export async function nextDueInMs(db: Connection, signal?: AbortSignal): Promise<number | null> {
  const ms = await db.value(
    (s) => `select (date_part('epoch', ${s}.next_due_at() - clock_timestamp()) * 1000)::bigint::text as value`,
    [],
    { idempotent: true, signal },
  );
  return ms === null ? null : Number(ms);
}

/** Milliseconds since 1970, by the database's clock, rounded down: nothing is due by it that is not. */
export function nowMs(db: Connection, signal?: AbortSignal): Promise<number> {
  return db.count(() => `select floor(date_part('epoch', clock_timestamp()) * 1000)::bigint::text as value`, [], {
    idempotent: true,
    signal,
  });
}

export function maxRetries(db: Connection, queue: string, signal?: AbortSignal): Promise<number> {
  return db.count((s) => `select ${s}.max_retries(queue => $1) as value`, [queue], {
    queue,
    idempotent: true,
    signal,
  });
}

export function maintain(db: Connection, queue: string | null, signal?: AbortSignal): Promise<number> {
  return db.count((s) => `select ${s}.maintain(queue => $1) as value`, [queue], {
    ...(queue !== null && { queue }),
    idempotent: true,
    signal,
  });
}

export function raiseIdleFlag(db: Connection, queue: string): Promise<boolean> {
  return db.flag((s) => `select ${s}.raise_idle_flag(queue => $1)::text as value`, [queue], { queue });
}

export function lowerIdleFlag(db: Connection, queue: string): Promise<boolean> {
  return db.flag((s) => `select ${s}.lower_idle_flag(queue => $1)::text as value`, [queue], { queue });
}

export function hasOpenSenders(db: Connection, queue: string): Promise<boolean> {
  return db.flag((s) => `select ${s}.has_open_senders(queue => $1)::text as value`, [queue], { queue });
}

export function deliverDue(db: Connection, signal?: AbortSignal): Promise<number> {
  return db.count((s) => `select ${s}.deliver_due() as value`, [], { idempotent: true, signal });
}

export function maintainShared(db: Connection, signal?: AbortSignal): Promise<number> {
  return db.count((s) => `select ${s}.maintain_shared() as value`, [], { idempotent: true, signal });
}

export function maintainQueue(db: Connection, queue: string, signal?: AbortSignal): Promise<number> {
  return db.count((s) => `select ${s}.maintain_queue(queue => $1) as value`, [queue], {
    queue,
    idempotent: true,
    signal,
  });
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
