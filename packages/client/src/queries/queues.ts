import { sqlName } from "../options/option.ts";
import { queueOptions, type QueueSettings } from "../queue/queue-options.ts";
import type { Connection } from "../connection/connection.ts";
import { epochMs, orNull } from "./values.ts";

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

/** `consumer` null: the queue. */
export function setPaused(
  db: Connection,
  queue: string,
  consumer: string | null,
  paused: boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  return db.flag(paused ? "pause" : "resume", { queue, consumer }, { queue, consumer, signal });
}

export function purge(db: Connection, queue: string, consumer: string | null, signal?: AbortSignal): Promise<number> {
  return db.count("purge", { queue, consumer }, { queue, consumer, signal });
}
