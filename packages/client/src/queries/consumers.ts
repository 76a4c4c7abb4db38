import type { ConsumerSettings } from "../admin/queue-status.ts";
import type { Connection } from "../connection/connection.ts";
import { date, epochMs, orNull } from "./values.ts";

export function subscribe(
  db: Connection,
  queue: string,
  consumer: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  return db.flag(
    (s) => `select ${s}.subscribe(queue => $1, consumer => $2, options => $3::text::jsonb) as value`,
    [queue, consumer, JSON.stringify(options)],
    { queue, consumer, idempotent: true, signal },
  );
}

/** Counted to 10001. */
export function skippedMessages(
  db: Connection,
  queue: string,
  consumer: string,
  signal?: AbortSignal,
): Promise<number> {
  return db.count((s) => `select ${s}.skipped_messages(queue => $1, consumer => $2) as value`, [queue, consumer], {
    queue,
    consumer,
    idempotent: true,
    signal,
  });
}

export function unsubscribe(db: Connection, queue: string, consumer: string, signal?: AbortSignal): Promise<boolean> {
  return db.flag((s) => `select ${s}.unsubscribe(queue => $1, consumer => $2) as value`, [queue, consumer], {
    queue,
    consumer,
    signal,
  });
}

export async function seek(
  db: Connection,
  queue: string,
  consumer: string,
  position: string,
  signal?: AbortSignal,
): Promise<void> {
  await db.rows(
    (s) => `select ${s}.seek(queue => $1, consumer => $2, "position" => $3)::text`,
    [queue, consumer, position],
    { queue, consumer, signal },
  );
}

/** `options` in the words of SQL; null: no limit. */
export function changeConsumer(
  db: Connection,
  queue: string,
  consumer: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  return db.flag(
    (s) => `select ${s}.change_consumer(queue => $1, consumer => $2, options => $3::text::jsonb) as value`,
    [queue, consumer, JSON.stringify(options)],
    { queue, consumer, signal },
  );
}

/** `queue` null: of all queues. */
export async function consumerSettings(
  db: Connection,
  queue: string | null,
  signal?: AbortSignal,
): Promise<ConsumerSettings[]> {
  const rows = await db.rows(
    (s) => `
      select queue_name, consumer, settings::text, ${epochMs("(settings ->> 'rate_period')::interval")} as rate_period_ms, paused::text,
             ${epochMs("created_at")} as created_ms
        from ${s}.consumer_settings(queue => $1)`,
    [queue],
    { ...(queue !== null && { queue }), idempotent: true, signal },
  );
  return rows.map((row) => {
    const { mode, on_failure: onFailure = null, max_in_flight, rate_limit } = JSON.parse(String(row["settings"]));
    return {
      queue: String(row["queue_name"]),
      name: String(row["consumer"]),
      mode,
      onFailure,
      maxInFlight: max_in_flight,
      rateLimit: rate_limit,
      ratePeriodMs: orNull(row["rate_period_ms"], Number),
      paused: row["paused"] === "true",
      createdAt: date(row["created_ms"]),
    };
  });
}
