import type {
  TailPage,
  TailOptions,
  FoundMessage,
  ReportedProgress,
  StoredStep,
  MessageState,
  PeekedMessage,
  PeekOptions,
} from "../admin/message-options.ts";
import type { Connection } from "../connection/connection.ts";
import { headers, listed, number, orNull, payload, readRow, select, text, time } from "./columns.ts";
import { jsonOrText } from "./values.ts";

const columns = {
  consumer: orNull(text("consumer")),
  dueAt: orNull(time("due_at")),
  type: text("type"),
  payload: payload("payload"),
  headers: headers("headers"),
  createdAt: time("created_at"),
  expiresAt: orNull(time("expires_at")),
  priority: orNull(number("priority")),
  key: orNull(text("key")),
};
const peekedColumns = {
  id: text("m.message_id"),
  attempt: number("attempt"),
  ...columns,
  position: text(`m."position"`),
};

export function peek(db: Connection, queue: string, options: PeekOptions): Promise<PeekedMessage[]> {
  const { consumer, after, max = 10, signal } = options;
  return select(
    db,
    peekedColumns,
    (s) => `${s}.peek(queue => $1, consumer => $2, after => $3, max_messages => $4::text::int) m`,
    [queue, consumer ?? null, after ?? null, String(max)],
    { queue, consumer, signal },
  );
}

export async function tail(db: Connection, queue: string, options: TailOptions): Promise<TailPage> {
  const { after, max = 100, signal } = options;
  // one row at least: the position is also there when no message is
  const rows = await db.rows(
    (s) => `
      select ${listed(peekedColumns)}, f."position" as next
        from ${s}.tail(queue => $1, after => $2, max_messages => $3::text::int) f
        left join lateral unnest(f.messages) with ordinality m on true
       order by m.ordinality`,
    [queue, after ?? null, String(max)],
    { queue, idempotent: true, signal },
  );
  return {
    messages: rows.filter((row) => row["id"] !== null).map((row) => readRow(peekedColumns, row)),
    position: String(rows[0]?.["next"]),
  };
}

const progressColumns = {
  attempt: number("attempt"),
  kind: text<ReportedProgress["kind"]>("kind"),
  value: text("value"),
  reportedAt: time("reported_at"),
};

export async function progress(
  db: Connection,
  queue: string,
  id: string,
  consumer: string,
  signal?: AbortSignal,
): Promise<ReportedProgress[]> {
  const from = (s: string): string => `${s}.progress($1, $2::text::bigint, $3)`;
  const rows = await select(db, progressColumns, from, [queue, id, consumer], { queue, consumer, signal });
  return rows.map((row) => ({ ...row, value: row.kind === "log" ? row.value : jsonOrText(row.value) }));
}

const stepColumns = { step: text("name"), result: orNull(text("result")), storedAt: time("stored_at") };

export async function steps(
  db: Connection,
  queue: string,
  id: string,
  consumer: string,
  signal?: AbortSignal,
): Promise<StoredStep[]> {
  const from = (s: string): string => `${s}.steps($1, $2::text::bigint, $3)`;
  const rows = await select(db, stepColumns, from, [queue, id, consumer], { queue, consumer, signal });
  return rows.map((row) => ({ ...row, result: row.result === null ? undefined : JSON.parse(row.result) }));
}

const foundColumns = {
  state: text<MessageState>("state"),
  attempt: orNull(number("attempt")),
  batchId: orNull(text("batch_id")),
  worker: orNull(text("worker")),
  leasedUntil: orNull(time("leased_until")),
  settledAt: orNull(time("settled_at")),
  diedAt: orNull(time("died_at")),
  reason: orNull(text("reason")),
  deadLetterId: orNull(text("dead_letter_id")),
  ...columns,
};

export async function findMessage(
  db: Connection,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<FoundMessage[]> {
  const from = (s: string): string => `${s}.find_message(queue => $1, message_id => $2::text::bigint)`;
  const rows = await select(db, foundColumns, from, [queue, id], { queue, signal });
  return rows.map((row) => ({ id, ...row }));
}
