import type { Connection } from "../connection/connection.ts";
import { flag, ms, number, orNull, select, text, time } from "../queries/columns.ts";
import { purge, setPaused } from "../queries/queues.ts";
import { consumerStatus } from "../queries/status.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import { name } from "../options/checks.ts";
import { callProblems, inSql, nullable, refuse, withResets, type CallOptions } from "../options/option.ts";
import type { ConsumerSettings, ConsumerStatus } from "./queue-status.ts";
import { changeableOptions, positionCheck, type ConsumerChanges, type Position } from "./subscribe-options.ts";

const settingsColumns = {
  queue: text("queue_name"),
  name: text("consumer"),
  mode: text<ConsumerSettings["mode"]>("settings ->> 'mode'"),
  onFailure: orNull(text<"block" | "skip">("settings ->> 'on_failure'")),
  maxInFlight: orNull(number("settings ->> 'max_in_flight'")),
  maxInFlightPerKey: orNull(number("settings ->> 'max_in_flight_per_key'")),
  rateLimit: orNull(number("settings ->> 'rate_limit'")),
  ratePeriodMs: orNull(ms("(settings ->> 'rate_period')::interval")),
  paused: flag("paused"),
  createdAt: time("created_at"),
};

/** What people do with consumers. `subscribe` and `unsubscribe` are methods of `Pgque` itself. */
export class Consumers {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /**
   * Every consumer, or those of one queue: how far each is. Reads what it counts: every few seconds, not in a loop.
   *
   * @example
   * for (const { name, depth, lagMs } of await pgque.consumers.list(orders)) console.log(name, depth, lagMs);
   */
  async list(queue?: QueueRef, options: CallOptions = {}): Promise<ConsumerStatus[]> {
    refuse("consumers.list", callProblems(options));
    const queueName = queue === undefined ? null : queueOf("consumers.list", queue).name;
    return consumerStatus(this.#db, queueName, options.signal);
  }

  /**
   * How every consumer receives, or those of one queue: mode and limits as they are in the database.
   *
   * @example
   * for (const { name, mode, maxInFlight } of await pgque.consumers.settings(orders)) console.log(name, mode, maxInFlight);
   */
  async settings(queue?: QueueRef, options: CallOptions = {}): Promise<ConsumerSettings[]> {
    refuse("consumers.settings", callProblems(options));
    const queueName = queue === undefined ? null : queueOf("consumers.settings", queue).name;
    const { signal } = options;
    const from = (s: string): string => `${s}.consumer_settings(queue => $1)`;
    return select(this.#db, settingsColumns, from, [queueName], { queue: queueName, signal });
  }

  /**
   * Changes the limits of a consumer; what is not named stays as it is, null takes a limit away. All or nothing.
   *
   * @returns false when it was like that already
   * @throws PgqueError CONSUMER_NOT_FOUND, INVALID_ARGUMENT
   * @example
   * await pgque.consumers.change(orders, "default", { maxInFlight: 50, rateLimit: null });
   */
  async change(queue: QueueRef, consumer: string, changes: ConsumerChanges): Promise<boolean> {
    refuse("consumers.change", [name("consumer", consumer), ...callProblems(changes, nullable(changeableOptions))]);
    const named = { queue: queueOf("consumers.change", queue).name, consumer };
    const args = {
      ...named,
      "options jsonb": JSON.stringify(inSql(withResets(changes, changeableOptions), changeableOptions)),
    };
    return this.#db.flag("change_consumer", args, { ...named, signal: changes.signal });
  }

  /**
   * Places a consumer anew: replays what is kept, see `retentionMs`, or skips what it has not received. Its open batches and its retries are
   * left behind. Not in a transaction above READ COMMITTED.
   *
   * @param position a time means the first message kept that was sent at or after it
   * @throws PgqueError CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   * @example
   * await pgque.consumers.seek(orders, "default", new Date(Date.now() - 3_600_000)); // an hour back
   */
  async seek(queue: QueueRef, consumer: string, position: Position, options: CallOptions = {}): Promise<void> {
    refuse("consumers.seek", [
      name("consumer", consumer),
      positionCheck("position", position),
      ...callProblems(options),
    ]);
    const named = { queue: queueOf("consumers.seek", queue).name, consumer };
    const args = { ...named, '"position"': position instanceof Date ? position.toISOString() : position };
    await this.#db.value("seek", args, { ...named, signal: options.signal });
  }

  /**
   * The consumer receives nothing until it is resumed. What it has in hand can be settled, and other consumers go on.
   *
   * @returns false when it was paused already
   * @throws PgqueError CONSUMER_NOT_FOUND
   * @example
   * await pgque.consumers.pause(orders, "default");
   */
  async pause(queue: QueueRef, consumer: string, options: CallOptions = {}): Promise<boolean> {
    refuse("consumers.pause", [name("consumer", consumer), ...callProblems(options)]);
    return setPaused(this.#db, queueOf("consumers.pause", queue).name, consumer, true, options.signal);
  }

  /**
   * Goes on with what `pause` stopped, and wakes idle workers.
   *
   * @returns false when it was not paused
   * @throws PgqueError CONSUMER_NOT_FOUND
   * @example
   * await pgque.consumers.resume(orders, "default");
   */
  async resume(queue: QueueRef, consumer: string, options: CallOptions = {}): Promise<boolean> {
    refuse("consumers.resume", [name("consumer", consumer), ...callProblems(options)]);
    return setPaused(this.#db, queueOf("consumers.resume", queue).name, consumer, false, options.signal);
  }

  /**
   * Throws away what the consumer has not received or settled. Other consumers still get it. Not in a transaction above READ COMMITTED.
   *
   * @returns how many messages that were
   * @throws PgqueError CONSUMER_NOT_FOUND, ISOLATION_LEVEL
   * @example
   * const gone = await pgque.consumers.purge(orders, "default");
   */
  async purge(queue: QueueRef, consumer: string, options: CallOptions = {}): Promise<number> {
    refuse("consumers.purge", [name("consumer", consumer), ...callProblems(options)]);
    return purge(this.#db, queueOf("consumers.purge", queue).name, consumer, options.signal);
  }
}
