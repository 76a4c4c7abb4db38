import type { Schedule } from "../admin/schedule-options.ts";
import type { Connection } from "../connection/connection.ts";
import { catchUpOf } from "../admin/catch-up.ts";
import { flag, headers, number, orNull, payload, select, text, time } from "./columns.ts";

/** `options`: a JSON text. */
export function setSchedule(
  db: Connection,
  schedule: { name: string; queue: string; cron: string; payload: string; options: string },
  signal?: AbortSignal,
): Promise<boolean> {
  const { options, ...args } = schedule;
  return db.flag("schedule", { ...args, "options jsonb": options }, { queue: args.queue, signal });
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

const columns = {
  name: text("name"),
  queue: text("queue_name"),
  cron: text("cron"),
  timeZone: text("time_zone"),
  type: text("type"),
  payload: orNull(payload("payload")),
  headers: headers("options -> 'headers'"),
  priority: orNull(number("options ->> 'priority'")),
  key: orNull(text("options ->> 'key'")),
  catchUp: number("catch_up"),
  enabled: flag("enabled"),
  createdAt: time("created_at"),
  changedAt: time("changed_at"),
  lastRunAt: orNull(time("last_run_at")),
};

/** `queue` null: of all queues. */
export async function listSchedules(db: Connection, queue: string | null, signal?: AbortSignal): Promise<Schedule[]> {
  const rows = await select(db, columns, (s) => `${s}.schedules(queue => $1)`, [queue], { queue, signal });
  return rows.map((row) => ({ ...row, catchUp: catchUpOf(row.catchUp) }));
}

export async function runSchedule(
  db: Connection,
  name: string,
  runAt: Date,
  signal?: AbortSignal,
): Promise<string | null> {
  const args = { name, "run_at timestamptz": runAt.toISOString() };
  return (await db.value("run_schedule", args, { idempotent: true, signal })) as string | null;
}
