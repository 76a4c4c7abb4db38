import type { Schedule } from "../admin/schedule-options.ts";
import type { Connection } from "../connection/connection.ts";
import { catchUpOf } from "../admin/catch-up.ts";
import { date, epochMs, jsonOrText, orNull } from "./values.ts";

/** `options`: a JSON text. */
export async function setSchedule(
  db: Connection,
  schedule: { name: string; queue: string; cron: string; payload: string; options: string },
  signal?: AbortSignal,
): Promise<boolean> {
  const { name, queue, cron, payload, options } = schedule;
  const changed = await db.value(
    (s) =>
      `select ${s}.schedule(name => $1, queue => $2, cron => $3, payload => $4::text, options => $5::text::jsonb) as value`,
    [name, queue, cron, payload, options],
    { queue, signal },
  );
  return Number(changed) === 1;
}

export async function removeSchedule(db: Connection, name: string, signal?: AbortSignal): Promise<boolean> {
  return Number(await db.value((s) => `select ${s}.unschedule(name => $1) as value`, [name], { signal })) === 1;
}

/** Null: there is no such schedule. Whatever else it is stays as it is, to the letter: that is why the server reads it and not we. */
export async function enableSchedule(
  db: Connection,
  name: string,
  enabled: boolean,
  signal?: AbortSignal,
): Promise<boolean | null> {
  const [row] = await db.rows(
    (s) => `
      select ${s}.schedule(
               name => s.name, queue => s.queue_name, cron => s.cron, payload => s.payload,
               options => s.options || jsonb_build_object(
                 'time_zone', s.time_zone, 'type', s.type, 'catch_up', s.catch_up, 'enabled', $2::text::boolean
               )
             )::text as value
        from ${s}.schedules() s
       where s.name = $1`,
    [name, String(enabled)],
    { idempotent: true, signal },
  );
  return row === undefined ? null : row["value"] === "1";
}

/** `queue` null: of all queues. */
export async function listSchedules(db: Connection, queue: string | null, signal?: AbortSignal): Promise<Schedule[]> {
  const rows = await db.rows(
    (s) => `
      select name, queue_name, cron, time_zone, type, payload, options::text, catch_up::text, enabled::text, ${epochMs("created_at")} as created_ms,
             ${epochMs("changed_at")} as changed_ms, ${epochMs("last_run_at")} as run_ms
        from ${s}.schedules(queue => $1)`,
    [queue],
    { ...(queue !== null && { queue }), idempotent: true, signal },
  );
  return rows.map((row) => {
    const { headers = {}, priority = null, key = null } = JSON.parse(String(row["options"]));
    return {
      name: String(row["name"]),
      queue: String(row["queue_name"]),
      cron: String(row["cron"]),
      timeZone: String(row["time_zone"]),
      type: String(row["type"]),
      payload: orNull(row["payload"], jsonOrText),
      headers,
      priority,
      key,
      catchUp: catchUpOf(Number(row["catch_up"])),
      enabled: row["enabled"] === "true",
      createdAt: date(row["created_ms"]),
      changedAt: date(row["changed_ms"]),
      lastRunAt: orNull(row["run_ms"], date),
    };
  });
}

export async function runSchedule(
  db: Connection,
  name: string,
  runAt: Date,
  signal?: AbortSignal,
): Promise<string | null> {
  const id = await db.value(
    (s) => `select ${s}.run_schedule(name => $1, run_at => $2::text::timestamptz)::text as value`,
    [name, runAt.toISOString()],
    { idempotent: true, signal },
  );
  return orNull(id, String);
}
