import type { ConsumerSettings } from "../admin/queue-status.ts";
import type { Connection } from "../connection/connection.ts";
import { flag, ms, number, orNull, select, text, time } from "./columns.ts";

export function subscribe(
  db: Connection,
  queue: string,
  consumer: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  const args = { queue, consumer, "options jsonb": JSON.stringify(options) };
  return db.flag("subscribe", args, { queue, consumer, idempotent: true, signal });
}

/** Counted to 10001. */
export function skippedMessages(
  db: Connection,
  queue: string,
  consumer: string,
  signal?: AbortSignal,
): Promise<number> {
  return db.count("skipped_messages", { queue, consumer }, { queue, consumer, idempotent: true, signal });
}

export function unsubscribe(db: Connection, queue: string, consumer: string, signal?: AbortSignal): Promise<boolean> {
  return db.flag("unsubscribe", { queue, consumer }, { queue, consumer, signal });
}

export async function seek(
  db: Connection,
  queue: string,
  consumer: string,
  position: string,
  signal?: AbortSignal,
): Promise<void> {
  await db.value("seek", { queue, consumer, '"position"': position }, { queue, consumer, signal });
}

/** `options` in the words of SQL; null: no limit. */
export function changeConsumer(
  db: Connection,
  queue: string,
  consumer: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  const args = { queue, consumer, "options jsonb": JSON.stringify(options) };
  return db.flag("change_consumer", args, { queue, consumer, signal });
}

const columns = {
  queue: text("queue_name"),
  name: text("consumer"),
  mode: text<ConsumerSettings["mode"]>("settings ->> 'mode'"),
  onFailure: orNull(text<"block" | "skip">("settings ->> 'on_failure'")),
  maxInFlight: orNull(number("settings ->> 'max_in_flight'")),
  rateLimit: orNull(number("settings ->> 'rate_limit'")),
  ratePeriodMs: orNull(ms("(settings ->> 'rate_period')::interval")),
  paused: flag("paused"),
  createdAt: time("created_at"),
};

/** `queue` null: of all queues. */
export function consumerSettings(
  db: Connection,
  queue: string | null,
  signal?: AbortSignal,
): Promise<ConsumerSettings[]> {
  return select(db, columns, (s) => `${s}.consumer_settings(queue => $1)`, [queue], { queue, signal });
}
