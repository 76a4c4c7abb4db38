import type { Connection } from "../connection/connection.ts";
import { headers, listed, number, orNull, readRow, text, time } from "./columns.ts";

const columns = {
  id: text("m.message_id"),
  type: text("m.type"),
  payload: text("m.payload"),
  headers: headers("m.headers"),
  createdAt: time("m.created_at"),
  dueAt: orNull(time("m.due_at")),
  expiresAt: orNull(time("m.expires_at")),
  priority: orNull(number("m.priority")),
  key: orNull(text("m.key")),
};

/**
 * Everything that was sent to a queue and is kept, in the order in which it was sent: no retries, and nothing up to the message `afterId`.
 * One statement for all pages, so that a delayed message that is moved meanwhile is neither missed nor found twice.
 */
export async function peekSent(
  db: Connection,
  queue: string,
  afterId: string,
  signal?: AbortSignal,
): Promise<ReturnType<typeof readRow<typeof columns>>[]> {
  const page = (schema: string, after: string): string =>
    `(select array_agg(p) from ${schema}.peek(queue => asked.queue, after => ${after}, max_messages => 1000) p)`;
  const rows = await db.rows(
    (s) => `
      with recursive asked as (
        select $1::text as queue, $2::text::bigint as after_id
      ),
      page as (
        select ${page(s, "null")} as messages from asked
        union all
        select ${page(s, `page.messages[1000]."position"`)} from page, asked where cardinality(page.messages) = 1000
      )
      select ${listed(columns)}
        from asked cross join page cross join unnest(page.messages) m
       where m.consumer is null and m.message_id > asked.after_id
       order by m.message_id`,
    [queue, afterId],
    { queue, idempotent: true, signal },
  );
  return rows.map((row) => readRow(columns, row));
}

/** Throws away everything in all queues, dead letters too. Each queue by name, with the number of the last message that it had. */
export async function purgeAll(db: Connection, schema: string): Promise<Map<string, string>> {
  const rows = await db.rows(
    (s) => `
      select q.name, ${s}.purge(queue => q.name), ${s}.dlq_purge(queue => q.name, older_than => '0'),
             coalesce(pg_sequence_last_value(format('%I.%I', $1::text, 'message_seq_' || q.id)::regclass), 0)::text as last_id
        from ${s}.queue q`,
    [schema],
  );
  return new Map(rows.map((row) => [String(row["name"]), String(row["last_id"])]));
}
