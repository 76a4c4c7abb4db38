import type { ConsumerSettings } from "../admin/queue-status.ts";
import type { Connection } from "../connection/connection.ts";
import { date, epochMs, orNull } from "./values.ts";

export async function subscribe(
  db: Connection,
  queue: string,
  consumer: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  const added = await db.value(
    (s) => `select ${s}.subscribe(queue => $1, consumer => $2, options => $3::text::jsonb) as value`,
    [queue, consumer, JSON.stringify(options)],
    { queue, consumer, idempotent: true, signal },
  );
  return Number(added) === 1;
}

/** Counted to 10001. */
export async function skippedMessages(
  db: Connection,
  queue: string,
  consumer: string,
  signal?: AbortSignal,
): Promise<number> {
  const skipped = await db.value(
    (s) => `select ${s}.skipped_messages(queue => $1, consumer => $2) as value`,
    [queue, consumer],
    { queue, consumer, idempotent: true, signal },
  );
  return Number(skipped);
}

export async function unsubscribe(
  db: Connection,
  queue: string,
  consumer: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const removed = await db.value(
    (s) => `select ${s}.unsubscribe(queue => $1, consumer => $2) as value`,
    [queue, consumer],
    { queue, consumer, signal },
  );
  return Number(removed) === 1;
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
export async function changeConsumer(
  db: Connection,
  queue: string,
  consumer: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  const changed = await db.value(
    (s) => `select ${s}.change_consumer(queue => $1, consumer => $2, options => $3::text::jsonb) as value`,
    [queue, consumer, JSON.stringify(options)],
    { queue, consumer, signal },
  );
  return Number(changed) === 1;
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
