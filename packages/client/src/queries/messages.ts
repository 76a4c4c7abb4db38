import type {
  TailPage,
  TailOptions,
  FoundMessage,
  MessageState,
  PeekedMessage,
  PeekOptions,
} from "../admin/message-options.ts";
import type { Connection, Row } from "../connection/connection.ts";
import { date, epochMs, headersOf, jsonOrText, orNull } from "./values.ts";

/** The columns that both functions have. */
const columns = `
  consumer, ${epochMs("due_at")} as due_ms, type, payload, headers::text, ${epochMs("created_at")} as created_ms,
  ${epochMs("expires_at")} as expires_ms, priority::text, key`;

function read(row: Row) {
  return {
    consumer: orNull(row["consumer"], String),
    dueAt: orNull(row["due_ms"], date),
    type: String(row["type"]),
    payload: jsonOrText(row["payload"]),
    headers: headersOf(row["headers"]),
    createdAt: date(row["created_ms"]),
    expiresAt: orNull(row["expires_ms"], date),
    priority: orNull(row["priority"], Number),
    key: orNull(row["key"], String),
  };
}

export async function peek(db: Connection, queue: string, options: PeekOptions): Promise<PeekedMessage[]> {
  const { consumer, after, max = 10, signal } = options;
  const rows = await db.rows(
    (s) => `
      select message_id::text, attempt::text, "position", ${columns}
        from ${s}.peek(queue => $1, consumer => $2, after => $3, max_messages => $4::text::int)`,
    [queue, consumer ?? null, after ?? null, String(max)],
    { queue, ...(consumer !== undefined && { consumer }), idempotent: true, signal },
  );
  return rows.map(readPeeked);
}

function readPeeked(row: Row): PeekedMessage {
  return {
    id: String(row["message_id"]),
    attempt: Number(row["attempt"]),
    ...read(row),
    position: String(row["position"]),
  };
}

export async function tail(db: Connection, queue: string, options: TailOptions): Promise<TailPage> {
  const { after, max = 100, signal } = options;
  // one row at least: the position is also there when no message is
  const rows = await db.rows(
    (s) => `
      select f."position" as next, message_id::text, attempt::text, m."position", ${columns}
        from ${s}.tail(queue => $1, after => $2, max_messages => $3::text::int) f
        left join lateral unnest(f.messages) with ordinality m on true
       order by m.ordinality`,
    [queue, after ?? null, String(max)],
    { queue, idempotent: true, signal },
  );
  return {
    messages: rows.filter((row) => row["message_id"] !== null).map(readPeeked),
    position: String(rows[0]?.["next"]),
  };
}

export async function findMessage(
  db: Connection,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<FoundMessage[]> {
  const rows = await db.rows(
    (s) => `
      select state, attempt::text, batch_id::text, worker, ${epochMs("leased_until")} as leased_ms,
             ${epochMs("settled_at")} as settled_ms, ${epochMs("died_at")} as died_ms, reason, dead_letter_id::text, ${columns}
        from ${s}.find_message(queue => $1, message_id => $2::text::bigint)`,
    [queue, id],
    { queue, idempotent: true, signal },
  );
  return rows.map((row) => ({
    id,
    state: String(row["state"]) as MessageState,
    attempt: orNull(row["attempt"], Number),
    batchId: orNull(row["batch_id"], String),
    worker: orNull(row["worker"], String),
    leasedUntil: orNull(row["leased_ms"], date),
    settledAt: orNull(row["settled_ms"], date),
    diedAt: orNull(row["died_ms"], date),
    reason: orNull(row["reason"], String),
    deadLetterId: orNull(row["dead_letter_id"], String),
    ...read(row),
  }));
}
