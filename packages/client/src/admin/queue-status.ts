/** What is to be known of a queue at a glance. */
export interface QueueStatus {
  name: string;
  consumers: number;
  /** How many segments it has, and which takes what is sent. */
  segments: number;
  currentSegment: number;
  rotatedAt: Date;
  /** Since the first message in the current segment. */
  sentPerSecond: number;
  /** On disk, without indexes. */
  bytes: number;
  /** Messages that wait for their time, retries included. */
  delayed: number;
  deadLetters: number;
  /** Nothing of it is received, by any consumer. */
  paused: boolean;
}

/** One segment of a queue. */
export interface SegmentStatus {
  segment: number;
  isCurrent: boolean;
  /** On disk, without indexes. */
  bytes: number;
  /** What keeps its space from being given back, in words; null for the current segment and for empty ones; empty: the next `maintain` does. */
  waitsFor: string[] | null;
}

/** What is to be known of a consumer at a glance. */
export interface ConsumerStatus {
  queue: string;
  name: string;
  /** Messages that it can receive. */
  depth: number;
  /** When the oldest of them was sent, and how long ago that is in milliseconds; null when there is none. */
  oldestAt: Date | null;
  lagMs: number | null;
  /** Messages received and not settled, in so many open batches. */
  inFlight: number;
  openBatches: number;
  /** The last receive that found something; null when there was none that is still known. */
  receivedAt: Date | null;
  /** In the last minute, or in the last 100 receives of each lane if the minute had more. */
  receivedPerSecond: number;
  /** Messages passed over because they had expired, since it subscribed. */
  expired: number;
  /** By itself or with its queue. */
  paused: boolean;
  /** `depth`, or `inFlight` and `openBatches`, are estimates: 10,000 messages and 1,000 batches are counted. */
  estimated: boolean;
}

/** An advisory lock of Pgque that somebody holds for long. Workers do not: a login needs no right to take one. */
export interface HeldLock {
  /**
   * What it is for: of one consumer to receive (`cursor`); of one queue to maintain it, to subscribe to it, to cancel messages, to wake its workers (`idle`); of all
   * queues to create and drop them (`registry`), to deliver delayed messages and retries, and to give space back (the others).
   */
  purpose:
    | "cursor"
    | "maintain"
    | "subscribe"
    | "cancel"
    | "idle"
    | "registry"
    | "delayed"
    | "heartbeat"
    | "dedupe"
    | "schedule";
  /** Null for a lock of all queues; `consumer` also for one of a queue. */
  queue: string | null;
  consumer: string | null;
  /** The process that holds it, which `pg_terminate_backend` ends; null: a prepared transaction does. */
  pid: number | null;
  preparedTransaction: string | null;
  role: string | null;
  applicationName: string | null;
  /** At the latest: when its transaction began, its session fell idle, or somebody began to wait for it. */
  since: Date;
  /** Sessions that wait for it. */
  waiting: number;
}

/** How a consumer receives, as it is in the database; null: no limit. */
export interface ConsumerSettings {
  queue: string;
  name: string;
  mode: "shared" | "exclusive" | "ordered";
  /** Null unless it is ordered. */
  onFailure: "block" | "skip" | null;
  maxInFlight: number | null;
  maxInFlightPerKey: number | null;
  rateLimit: number | null;
  ratePeriodMs: number | null;
  /** By itself, whatever its queue is. */
  paused: boolean;
  createdAt: Date;
}

/** A worker that is alive. */
export interface WorkerStatus {
  worker: string;
  /** Unless another heartbeat comes. */
  aliveUntil: Date;
}
