import type { Connection } from "../connection/connection.ts";
import * as queries from "../queries/queues.ts";
import { heldLocks, queueStatus, segmentStatus } from "../queries/status.ts";
import { milliseconds } from "../queries/values.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import { queueOptions, type QueueChanges, type QueueSettings } from "../queue/queue-options.ts";
import { delayMs } from "../send/send-options.ts";
import { boolean, id, integer, name, time, unchecked } from "../options/checks.ts";
import {
  problemsOf,
  callProblems,
  inSql,
  nullable,
  withResets,
  refuse,
  type CallOptions,
  type OptionTable,
  type OptionsOf,
} from "../options/option.ts";
import type { HeldLock, QueueStatus, SegmentStatus } from "./queue-status.ts";

const dropOptions = {
  /** Drop it although consumers are subscribed, and with it what they have not received. Default: false. */
  force: { check: boolean, default: false, help: "drop it although consumers are subscribed" },
} satisfies OptionTable;

/** Options of `queues.drop`. */
export interface DropOptions extends OptionsOf<typeof dropOptions>, CallOptions {}

const deliverOptions = {
  /** What is due by then, by the database's clock. Default: everything. */
  until: { check: time, absent: "everything", help: "what is due by then" },
  /** Of that, what is due so many milliseconds after the earliest; 0: nothing but the earliest. 0 to 3153600000000 (100 years). Default: all of it. */
  withinMs: { check: delayMs, absent: "all of it", help: "what is due within this time of the earliest" },
  /** What waits for this consumer, or for all of them. Default: for whichever. */
  consumer: { check: name, absent: "any", help: "what waits for this consumer" },
  /** This message alone, and what waits with it in its lane of an ordered consumer. Default: any. */
  id: { check: id, absent: "any", help: "this message" },
} satisfies OptionTable;

/** Which delayed messages are delivered now. */
export interface DeliverDelayedOptions extends OptionsOf<typeof deliverOptions>, CallOptions {}

const heldLocksOptions = {
  /** Those of this queue and its consumers. Default: those of every queue that the role may look at, and those of no queue if it may look at all. */
  queue: { check: unchecked<QueueRef>(), absent: "any", help: "those of this queue and its consumers" },
  /** Held for longer than that, in milliseconds. 0 to 86400000 (a day). Default: 10000 (10 s). */
  longerThanMs: { check: integer(0, 86_400_000), default: 10_000, help: "held for longer than that" },
} satisfies OptionTable;

/** Which held locks are listed. */
export interface HeldLocksOptions extends OptionsOf<typeof heldLocksOptions>, CallOptions {}

/** What people do with whole queues. The role needs `<schema>_admin`. */
export class Queues {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Every queue, by name. Reads what it counts: every few seconds, not in a loop.
   *
   * @example
   * for (const { name, deadLetters, delayed } of await pgque.queues.list()) console.log(name, deadLetters, delayed);
   */
  async list(options: CallOptions = {}): Promise<QueueStatus[]> {
    refuse("queues.list", callProblems(options));
    return queueStatus(this.#db, null, options.signal);
  }

  /**
   * One queue at a glance; how far each consumer is says `consumers.list`.
   *
   * @example
   * const { bytes, sentPerSecond } = await pgque.queues.status(orders);
   */
  async status(queue: QueueRef, options: CallOptions = {}): Promise<QueueStatus> {
    refuse("queues.status", callProblems(options));
    const [status] = await queueStatus(this.#db, queueOf("queues.status", queue).name, options.signal);
    return status as QueueStatus;
  }

  /**
   * The segments of a queue, and what keeps the space of each from being given back.
   *
   * @example
   * for (const { segment, waitsFor } of await pgque.queues.segments(orders)) console.log(segment, waitsFor);
   */
  async segments(queue: QueueRef, options: CallOptions = {}): Promise<SegmentStatus[]> {
    refuse("queues.segments", callProblems(options));
    return segmentStatus(this.#db, queueOf("queues.segments", queue).name, options.signal);
  }

  /**
   * Who holds a lock of Pgque for long, the longest first, a hundred at most: while somebody does, a consumer receives nothing, or nothing is
   * maintained. The role needs `<schema>_viewer`, or to receive from the queue.
   *
   * @example
   * for (const { purpose, pid, role, since } of await pgque.queues.heldLocks()) console.log(purpose, pid, role, since);
   */
  async heldLocks(options: HeldLocksOptions = {}): Promise<HeldLock[]> {
    refuse("queues.heldLocks", callProblems(options, heldLocksOptions));
    const { queue, longerThanMs = heldLocksOptions.longerThanMs.default, signal } = options;
    const name = queue === undefined ? null : queueOf("queues.heldLocks", queue).name;
    return heldLocks(this.#db, name, longerThanMs, signal);
  }

  /**
   * The settings of a queue as they are in the database.
   *
   * @example
   * const { maxRetries } = await pgque.queues.settings(orders);
   */
  async settings(queue: QueueRef, options: CallOptions = {}): Promise<QueueSettings> {
    refuse("queues.settings", callProblems(options));
    return queries.queueSettings(this.#db, queueOf("queues.settings", queue).name, options.signal);
  }

  /**
   * Changes settings of a queue; what is not named stays as it is, null is the default of `ensure`. All or nothing: an error names everything
   * that is wrong.
   *
   * @param changes `partitions` and `priorities` can be raised, not set or lowered; `allowExpiry` cannot be switched off
   * @returns false when it was like that already
   * @throws PgqueError INVALID_ARGUMENT
   * @example
   * await pgque.queues.change(orders, { maxRetries: 10, retentionMs: 86_400_000, maxLagMs: null });
   */
  async change(queue: QueueRef, changes: QueueChanges, options: CallOptions = {}): Promise<boolean> {
    refuse("queues.change", [...problemsOf(changes, nullable(queueOptions)), ...callProblems(options)]);
    const { name: queueName } = queueOf("queues.change", queue);
    const args = {
      queue: queueName,
      "options jsonb": JSON.stringify(inSql(withResets(changes, queueOptions), queueOptions)),
    };
    return this.#db.flag("change_queue", args, { queue: queueName, signal: options.signal });
  }

  /**
   * Nothing is received until it is resumed, by any consumer. What is in hand can be settled, and sends go on.
   *
   * @returns false when it was paused already
   * @example
   * await pgque.queues.pause(orders);
   */
  async pause(queue: QueueRef, options: CallOptions = {}): Promise<boolean> {
    refuse("queues.pause", callProblems(options));
    return queries.setPaused(this.#db, queueOf("queues.pause", queue).name, null, true, options.signal);
  }

  /**
   * Goes on with what `pause` stopped, and wakes idle workers.
   *
   * @returns false when it was not paused
   * @example
   * await pgque.queues.resume(orders);
   */
  async resume(queue: QueueRef, options: CallOptions = {}): Promise<boolean> {
    refuse("queues.resume", callProblems(options));
    return queries.setPaused(this.#db, queueOf("queues.resume", queue).name, null, false, options.signal);
  }

  /**
   * Throws away what no consumer has received or settled, and what is delayed. Dead letters stay. Not in a transaction above READ COMMITTED.
   *
   * @returns how many messages that were
   * @throws PgqueError ISOLATION_LEVEL
   * @example
   * const gone = await pgque.queues.purge(orders);
   */
  async purge(queue: QueueRef, options: CallOptions = {}): Promise<number> {
    refuse("queues.purge", callProblems(options));
    return queries.purge(this.#db, queueOf("queues.purge", queue).name, null, options.signal);
  }

  /**
   * Delivers what waits, sent for later or to be tried again, before its time: in the order of the times, to consumers as if they had come.
   * What was sent in transactions that are still open goes on waiting. Not in a transaction above READ COMMITTED.
   *
   * @returns how many messages that were
   * @throws PgqueError CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   * @example
   * const early = await pgque.queues.deliverDelayed(orders, { until: new Date(Date.now() + 3_600_000) });
   */
  async deliverDelayed(queue: QueueRef, options: DeliverDelayedOptions = {}): Promise<number> {
    refuse("queues.deliverDelayed", callProblems(options, deliverOptions));
    const { until, withinMs, consumer, id: message, signal } = options;
    const { name: queueName } = queueOf("queues.deliverDelayed", queue);
    const args = {
      queue: queueName,
      "until timestamptz": until?.toISOString() ?? "infinity",
      "within interval": withinMs === undefined ? null : milliseconds(withinMs),
      consumer,
      "message_id bigint": message === undefined ? null : String(message),
    };
    return this.#db.count("deliver_delayed", args, { queue: queueName, consumer, signal });
  }

  /**
   * Drops a queue, its messages, its dead letters and its schedules.
   *
   * @returns false when there was none
   * @throws PgqueError INVALID_ARGUMENT when consumers are subscribed, unless `force`
   * @example
   * await pgque.queues.drop("outdated", { force: true });
   */
  async drop(queue: QueueRef, options: DropOptions = {}): Promise<boolean> {
    refuse("queues.drop", callProblems(options, dropOptions));
    const { force = false, signal } = options;
    const { name: queueName } = queueOf("queues.drop", queue);
    return this.#db.flag(
      "drop_queue",
      { queue: queueName, "force boolean": String(force) },
      { queue: queueName, signal },
    );
  }
}
