import { sqlName } from "../options/option.ts";
import { queueOptions, type QueueSettings } from "../queue/queue-options.ts";
import type { Connection } from "../connection/connection.ts";
import { epochMs, milliseconds, orNull } from "./values.ts";

export function createQueue(db: Connection, queue: string, options: object, signal?: AbortSignal): Promise<boolean> {
  return db.flag(
    (s) => `select ${s}.create_queue(queue => $1, options => $2::text::jsonb) as value`,
    [queue, JSON.stringify(options)],
    { queue, idempotent: true, signal },
  );
}

/** `options` in the words of SQL; null: the default. */
export function changeQueue(db: Connection, queue: string, options: object, signal?: AbortSignal): Promise<boolean> {
  return db.flag(
    (s) => `select ${s}.change_queue(queue => $1, options => $2::text::jsonb) as value`,
    [queue, JSON.stringify(options)],
    { queue, signal },
  );
}

const names = Object.keys(queueOptions);
const durations = names.filter((name) => name.endsWith("Ms")).map(sqlName);
const ms = (name: string): string => `${epochMs(`(settings ->> '${name}')::interval`)} as ${name}`;

export async function queueSettings(db: Connection, queue: string, signal?: AbortSignal): Promise<QueueSettings> {
  const [row = {}] = await db.rows(
    (s) => `select settings::text, ${durations.map(ms).join(", ")} from ${s}.queue_settings(queue => $1)`,
    [queue],
    { queue, idempotent: true, signal },
  );
  const settings: Record<string, unknown> = JSON.parse(String(row["settings"]));
  for (const name of durations) settings[name] = orNull(row[name], Number);
  return Object.fromEntries(names.map((name) => [name, settings[sqlName(name)] ?? null])) as unknown as QueueSettings;
}

export function dropQueue(db: Connection, queue: string, force: boolean, signal?: AbortSignal): Promise<boolean> {
  return db.flag(
    (s) => `select ${s}.drop_queue(queue => $1, force => $2::text::boolean) as value`,
    [queue, String(force)],
    { queue, signal },
  );
}

/** `consumer` null: the queue. */
export function setPaused(
  db: Connection,
  queue: string,
  consumer: string | null,
  paused: boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  return db.flag(
    (s) => `select ${s}.${paused ? "pause" : "resume"}(queue => $1, consumer => $2) as value`,
    [queue, consumer],
    { queue, ...(consumer !== null && { consumer }), signal },
  );
}

export function purge(db: Connection, queue: string, consumer: string | null, signal?: AbortSignal): Promise<number> {
  return db.count((s) => `select ${s}.purge(queue => $1, consumer => $2)::text as value`, [queue, consumer], {
    queue,
    ...(consumer !== null && { consumer }),
    signal,
  });
}

/** Each null: no bound. */
export function deliverDelayed(
  db: Connection,
  queue: string,
  { until, withinMs, consumer }: { until: Date | null; withinMs: number | null; consumer: string | null },
  signal?: AbortSignal,
): Promise<number> {
  return db.count(
    (s) => `
      select ${s}.deliver_delayed(
        queue => $1, until => coalesce($2::text::timestamptz, 'infinity'), within => $3::text::interval, consumer => $4)::text as value`,
    [queue, until?.toISOString() ?? null, withinMs === null ? null : milliseconds(withinMs), consumer],
    { queue, ...(consumer !== null && { consumer }), signal },
  );
}
