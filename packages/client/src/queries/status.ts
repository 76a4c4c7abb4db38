import type { ConsumerStatus, HeldLock, QueueStatus, SegmentStatus, WorkerStatus } from "../admin/queue-status.ts";
import type { Connection } from "../connection/connection.ts";
import { flag, ms, number, orNull, payload, select, text, time } from "./columns.ts";
import { milliseconds } from "./values.ts";

const queueColumns = {
  name: text("queue_name"),
  consumers: number("consumers"),
  segments: number("segments"),
  currentSegment: number("current_segment"),
  rotatedAt: time("rotated_at"),
  sentPerSecond: number("sent_per_second"),
  bytes: number("bytes"),
  delayed: number("delayed"),
  deadLetters: number("dead_letters"),
  paused: flag("paused"),
};

/** `queue` null: all of them. */
export function queueStatus(db: Connection, queue: string | null, signal?: AbortSignal): Promise<QueueStatus[]> {
  return select(db, queueColumns, (s) => `${s}.queue_status(queue => $1)`, [queue], { queue, signal });
}

const segmentColumns = {
  segment: number("segment"),
  isCurrent: flag("is_current"),
  bytes: number("bytes"),
  waitsFor: orNull(payload("array_to_json(waits_for)")),
};

export function segmentStatus(db: Connection, queue: string, signal?: AbortSignal): Promise<SegmentStatus[]> {
  const rows = select(db, segmentColumns, (s) => `${s}.segment_status(queue => $1)`, [queue], { queue, signal });
  return rows as Promise<SegmentStatus[]>;
}

const lockColumns = {
  purpose: text<HeldLock["purpose"]>("purpose"),
  queue: orNull(text("queue_name")),
  consumer: orNull(text("consumer")),
  pid: orNull(number("pid")),
  preparedTransaction: orNull(text("prepared_transaction")),
  role: orNull(text("role_name")),
  applicationName: orNull(text("application_name")),
  since: time("since"),
  waiting: number("waiting"),
};

/** `queue` null: all that the role may look at, and those of no queue. */
export function heldLocks(
  db: Connection,
  queue: string | null,
  longerThanMs: number,
  signal?: AbortSignal,
): Promise<HeldLock[]> {
  const from = (s: string): string => `${s}.held_locks(queue => $1, longer_than => $2::text::interval)`;
  return select(db, lockColumns, from, [queue, milliseconds(longerThanMs)], { queue, signal });
}

const consumerColumns = {
  queue: text("queue_name"),
  name: text("consumer"),
  depth: number("depth"),
  oldestAt: orNull(time("oldest_at")),
  lagMs: orNull(ms("clock_timestamp() - oldest_at")),
  inFlight: number("in_flight"),
  openBatches: number("open_batches"),
  receivedAt: orNull(time("received_at")),
  receivedPerSecond: number("received_per_second"),
  expired: number("expired"),
  paused: flag("paused"),
  estimated: flag("estimated"),
};

/** `queue` null: of all queues. */
export function consumerStatus(db: Connection, queue: string | null, signal?: AbortSignal): Promise<ConsumerStatus[]> {
  return select(db, consumerColumns, (s) => `${s}.consumer_status(queue => $1)`, [queue], { queue, signal });
}

const workerColumns = { worker: text("worker"), aliveUntil: time("alive_until") };

export function workerStatus(db: Connection, signal?: AbortSignal): Promise<WorkerStatus[]> {
  return select(db, workerColumns, (s) => `${s}.worker_status()`, [], { signal });
}
