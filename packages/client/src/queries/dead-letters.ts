import type {
  DeadLetter,
  DeadLetterFilter,
  ListDeadLettersOptions,
  PurgeDeadLettersOptions,
  RedriveOptions,
} from "../admin/dead-letter-options.ts";
import type { Connection } from "../connection/connection.ts";
import { date, epochMs, headersOf, jsonOrText, orNull } from "./values.ts";

/** The arguments that all three functions have, from $2 on. */
const filterArguments =
  "consumer => $2, type_name => $3, reason_like => $4, died_after => $5::text::timestamptz, died_before => $6::text::timestamptz";

function filterValues({ consumer, type, reasonLike, diedAfter, diedBefore }: DeadLetterFilter): (string | null)[] {
  return [
    consumer ?? null,
    type ?? null,
    reasonLike ?? null,
    diedAfter?.toISOString() ?? null,
    diedBefore?.toISOString() ?? null,
  ];
}

export async function listDeadLetters(
  db: Connection,
  queue: string,
  options: ListDeadLettersOptions,
): Promise<DeadLetter[]> {
  const { beforeId, max = 100, signal } = options;
  const rows = await db.rows(
    (s) => `
      select id::text, consumer, message_id::text, attempt::text, type, payload, headers::text, priority::text, key, reason,
             ${epochMs("created_at")} as created_ms, ${epochMs("died_at")} as died_ms
        from ${s}.dead_letters(queue => $1, ${filterArguments}, before_id => $7::text::bigint, max_messages => $8::text::int)`,
    [queue, ...filterValues(options), beforeId ?? null, String(max)],
    { queue, idempotent: true, signal },
  );
  return rows.map((row) => ({
    id: String(row["id"]),
    consumer: String(row["consumer"]),
    messageId: String(row["message_id"]),
    attempt: Number(row["attempt"]),
    type: String(row["type"]),
    payload: jsonOrText(row["payload"]),
    headers: headersOf(row["headers"]),
    priority: orNull(row["priority"], Number),
    key: orNull(row["key"], String),
    reason: orNull(row["reason"], String),
    createdAt: date(row["created_ms"]),
    diedAt: date(row["died_ms"]),
  }));
}

export async function redrive(db: Connection, queue: string, options: RedriveOptions): Promise<number> {
  const { ids, max = 100_000, signal } = options;
  const sent = await db.value(
    (s) =>
      `select ${s}.redrive(queue => $1, ${filterArguments}, ids => $7::bigint[], max_messages => $8::text::int)::text as value`,
    [queue, ...filterValues(options), ids ?? null, String(max)],
    { queue, signal },
  );
  return Number(sent);
}

export async function purgeDeadLetters(
  db: Connection,
  queue: string,
  options: PurgeDeadLettersOptions,
): Promise<number> {
  const { ids, max, signal } = options;
  const purged = await db.value(
    (s) =>
      `select ${s}.purge_dead_letters(queue => $1, ${filterArguments}, ids => $7::bigint[], max_messages => $8::text::int)::text as value`,
    [queue, ...filterValues(options), ids ?? null, max === undefined ? null : String(max)],
    { queue, signal },
  );
  return Number(purged);
}
