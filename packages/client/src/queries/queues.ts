import type { QueueOptions } from "../queue/queue-options.ts";
import type { Connection } from "../connection/connection.ts";
import { epochMs, milliseconds, orNull } from "./values.ts";

export async function createQueue(
  db: Connection,
  queue: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  const created = await db.value(
    (s) => `select ${s}.create_queue(queue => $1, options => $2::text::jsonb) as value`,
    [queue, JSON.stringify(options)],
    { queue, idempotent: true, signal },
  );
  return Number(created) === 1;
}

/** `options` in the words of SQL; null: the default. */
export async function changeQueue(
  db: Connection,
  queue: string,
  options: object,
  signal?: AbortSignal,
): Promise<boolean> {
  const changed = await db.value(
    (s) => `select ${s}.change_queue(queue => $1, options => $2::text::jsonb) as value`,
    [queue, JSON.stringify(options)],
    { queue, signal },
  );
  return Number(changed) === 1;
}

const ms = (name: string): string => `${epochMs(`(settings ->> '${name}')::interval`)} as ${name}`;

export async function queueSettings(
  db: Connection,
  queue: string,
  signal?: AbortSignal,
): Promise<Required<{ [Name in keyof QueueOptions]: NonNullable<QueueOptions[Name]> | null }>> {
  const [row = {}] = await db.rows(
    (s) => `
      select settings::text, ${["rotation_period", "rotation_min_interval", "retention", "max_lag"].map(ms).join(", ")}
        from ${s}.queue_settings(queue => $1)`,
    [queue],
    { queue, idempotent: true, signal },
  );
  const settings: Record<string, never> = JSON.parse(String(row["settings"]));
  const given = (name: string): never | null => settings[name] ?? null;
  return {
    maxRetries: given("max_retries"),
    maxCrashes: given("max_crashes"),
    rotationBytes: given("rotation_bytes"),
    rotationPeriodMs: orNull(row["rotation_period"], Number),
    rotationMinIntervalMs: orNull(row["rotation_min_interval"], Number),
    retentionMs: orNull(row["retention"], Number),
    maxLagMs: orNull(row["max_lag"], Number),
    maxLagAction: given("max_lag_action"),
    payloadBytesMax: given("payload_bytes_max"),
    notify: given("notify"),
    partitions: given("partitions"),
    priorities: given("priorities"),
    lowPriorityEvery: given("low_priority_every"),
    allowExpiry: given("allow_expiry"),
  };
}

export async function dropQueue(db: Connection, queue: string, force: boolean, signal?: AbortSignal): Promise<boolean> {
  const dropped = await db.value(
    (s) => `select ${s}.drop_queue(queue => $1, force => $2::text::boolean) as value`,
    [queue, String(force)],
    { queue, signal },
  );
  return Number(dropped) === 1;
}

/** `consumer` null: the queue. */
export async function setPaused(
  db: Connection,
  queue: string,
  consumer: string | null,
  paused: boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  const changed = await db.value(
    (s) => `select ${s}.${paused ? "pause" : "resume"}(queue => $1, consumer => $2) as value`,
    [queue, consumer],
    { queue, ...(consumer !== null && { consumer }), signal },
  );
  return Number(changed) === 1;
}

export async function purge(
  db: Connection,
  queue: string,
  consumer: string | null,
  signal?: AbortSignal,
): Promise<number> {
  const purged = await db.value(
    (s) => `select ${s}.purge(queue => $1, consumer => $2)::text as value`,
    [queue, consumer],
    { queue, ...(consumer !== null && { consumer }), signal },
  );
  return Number(purged);
}

/** Each null: no bound. */
export async function deliverDelayed(
  db: Connection,
  queue: string,
  { until, withinMs, consumer }: { until: Date | null; withinMs: number | null; consumer: string | null },
  signal?: AbortSignal,
): Promise<number> {
  const delivered = await db.value(
    (s) => `
      select ${s}.deliver_delayed(
        queue => $1, until => coalesce($2::text::timestamptz, 'infinity'), within => $3::text::interval, consumer => $4)::text as value`,
    [queue, until?.toISOString() ?? null, withinMs === null ? null : milliseconds(withinMs), consumer],
    { queue, ...(consumer !== null && { consumer }), signal },
  );
  return Number(delivered);
}
