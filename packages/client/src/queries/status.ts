import type { ConsumerStatus, HeldLock, QueueStatus, SegmentStatus, WorkerStatus } from "../admin/queue-status.ts";
import type { Connection } from "../connection/connection.ts";
import { date, epochMs, milliseconds, orNull } from "./values.ts";

/** `queue` null: all of them. */
export async function queueStatus(db: Connection, queue: string | null, signal?: AbortSignal): Promise<QueueStatus[]> {
  const rows = await db.rows(
    (s) => `
      select queue_name, consumers::text, segments::text, current_segment::text, ${epochMs("rotated_at")} as rotated_ms,
             sent_per_second::text, bytes::text, delayed::text, dead_letters::text, paused::text
        from ${s}.queue_status(queue => $1)`,
    [queue],
    { ...(queue !== null && { queue }), idempotent: true, signal },
  );
  return rows.map((row) => ({
    name: String(row["queue_name"]),
    consumers: Number(row["consumers"]),
    segments: Number(row["segments"]),
    currentSegment: Number(row["current_segment"]),
    rotatedAt: date(row["rotated_ms"]),
    sentPerSecond: Number(row["sent_per_second"]),
    bytes: Number(row["bytes"]),
    delayed: Number(row["delayed"]),
    deadLetters: Number(row["dead_letters"]),
    paused: row["paused"] === "true",
  }));
}

export async function segmentStatus(db: Connection, queue: string, signal?: AbortSignal): Promise<SegmentStatus[]> {
  const rows = await db.rows(
    (s) => `
      select segment::text, is_current::text, bytes::text, array_to_json(waits_for)::text as waits_for
        from ${s}.segment_status(queue => $1)`,
    [queue],
    { queue, idempotent: true, signal },
  );
  return rows.map((row) => ({
    segment: Number(row["segment"]),
    isCurrent: row["is_current"] === "true",
    bytes: Number(row["bytes"]),
    waitsFor: orNull(row["waits_for"], (value) => JSON.parse(String(value)) as string[]),
  }));
}

/** `queue` null: all that the role may look at, and those of no queue. */
export async function heldLocks(
  db: Connection,
  queue: string | null,
  longerThanMs: number,
  signal?: AbortSignal,
): Promise<HeldLock[]> {
  const rows = await db.rows(
    (s) => `
      select queue_name, consumer, purpose, pid::text, prepared_transaction, role_name, application_name, ${epochMs("since")} as since_ms,
             waiting::text
        from ${s}.held_locks(queue => $1, longer_than => $2::text::interval)`,
    [queue, milliseconds(longerThanMs)],
    { ...(queue !== null && { queue }), idempotent: true, signal },
  );
  return rows.map((row) => ({
    purpose: String(row["purpose"]) as HeldLock["purpose"],
    queue: orNull(row["queue_name"], String),
    consumer: orNull(row["consumer"], String),
    pid: orNull(row["pid"], Number),
    preparedTransaction: orNull(row["prepared_transaction"], String),
    role: orNull(row["role_name"], String),
    applicationName: orNull(row["application_name"], String),
    since: date(row["since_ms"]),
    waiting: Number(row["waiting"]),
  }));
}

/** `queue` null: of all queues. */
export async function consumerStatus(
  db: Connection,
  queue: string | null,
  signal?: AbortSignal,
): Promise<ConsumerStatus[]> {
  const rows = await db.rows(
    (s) => `
      select queue_name, consumer, depth::text, ${epochMs("oldest_at")} as oldest_ms,
             ${epochMs("clock_timestamp() - oldest_at")} as lag_ms, in_flight::text, open_batches::text,
             ${epochMs("received_at")} as received_ms, received_per_second::text, expired::text, paused::text, estimated::text
        from ${s}.consumer_status(queue => $1)`,
    [queue],
    { ...(queue !== null && { queue }), idempotent: true, signal },
  );
  return rows.map((row) => ({
    queue: String(row["queue_name"]),
    name: String(row["consumer"]),
    depth: Number(row["depth"]),
    oldestAt: orNull(row["oldest_ms"], date),
    lagMs: orNull(row["lag_ms"], Number),
    inFlight: Number(row["in_flight"]),
    openBatches: Number(row["open_batches"]),
    receivedAt: orNull(row["received_ms"], date),
    receivedPerSecond: Number(row["received_per_second"]),
    expired: Number(row["expired"]),
    paused: row["paused"] === "true",
    estimated: row["estimated"] === "true",
  }));
}

export async function workerStatus(db: Connection, signal?: AbortSignal): Promise<WorkerStatus[]> {
  const rows = await db.rows(
    (s) => `select worker, ${epochMs("alive_until")} as alive_ms from ${s}.worker_status()`,
    [],
    { idempotent: true, signal },
  );
  return rows.map((row) => ({ worker: String(row["worker"]), aliveUntil: date(row["alive_ms"]) }));
}
