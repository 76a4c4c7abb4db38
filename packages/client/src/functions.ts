import type { Connection } from "./connection.ts";

// One typed call per SQL function. Named notation, so that the functions may gain arguments. Ids, JSON and times cross as text
// and are read here: no type parser of the process is used or changed. Each text is constant for a schema, so that it can be
// prepared.

export async function createQueue(db: Connection, queue: string, options: object): Promise<boolean> {
  const created = await db.value(
    (s) => `select ${s}.create_queue(queue => $1, options => $2::jsonb) as value`,
    [queue, JSON.stringify(options)],
    { queue },
  );
  return Number(created) === 1;
}

export async function subscribe(db: Connection, queue: string, consumer: string, options: object): Promise<boolean> {
  const added = await db.value(
    (s) => `select ${s}.subscribe(queue => $1, consumer => $2, options => $3::jsonb) as value`,
    [queue, consumer, JSON.stringify(options)],
    { queue, consumer },
  );
  return Number(added) === 1;
}

export async function seek(db: Connection, queue: string, consumer: string, position: string): Promise<void> {
  await db.rows((s) => `select ${s}.seek(queue => $1, consumer => $2, "position" => $3)`, [queue, consumer, position], {
    queue,
    consumer,
  });
}

export async function unsubscribe(db: Connection, queue: string, consumer: string): Promise<boolean> {
  const removed = await db.value(
    (s) => `select ${s}.unsubscribe(queue => $1, consumer => $2) as value`,
    [queue, consumer],
    { queue, consumer },
  );
  return Number(removed) === 1;
}

/** `consumer` null: the queue. */
export async function setPaused(
  db: Connection,
  queue: string,
  consumer: string | null,
  paused: boolean,
): Promise<boolean> {
  const changed = await db.value(
    (s) => `select ${s}.${paused ? "pause" : "resume"}(queue => $1, consumer => $2) as value`,
    [queue, consumer],
    { queue, ...(consumer === null ? {} : { consumer }) },
  );
  return Number(changed) === 1;
}

/** `consumer` null: all of them. */
export async function purge(db: Connection, queue: string, consumer: string | null): Promise<number> {
  const purged = await db.value(
    (s) => `select ${s}.purge(queue => $1, consumer => $2)::text as value`,
    [queue, consumer],
    {
      queue,
      ...(consumer === null ? {} : { consumer }),
    },
  );
  return Number(purged);
}

/** `payload` and `options`: JSON texts. */
export async function send(
  db: Connection,
  queue: string,
  type: string,
  payload: string,
  options: string | null,
): Promise<bigint> {
  const id = await db.value(
    (s) =>
      `select ${s}.send(queue_name => $1, type_name => $2, payload => $3::text, options => $4::jsonb)::text as value`,
    [queue, type, payload, options],
    { queue },
  );
  return BigInt(String(id));
}

/** Ids in the order of the payloads. `headers` and `options`: one JSON text for all of them. */
export async function sendBatch(
  db: Connection,
  queue: string,
  type: string,
  payloads: readonly string[],
  headers: string | null,
  options: string | null,
): Promise<bigint[]> {
  const ids = await db.value(
    (s) =>
      `select array_to_string(${s}.send_batch(queue_name => $1, type_name => $2, payloads => $3::text[], headers => $4::jsonb[], options => $5::jsonb), ',') as value`,
    [queue, type, payloads, headers === null ? null : payloads.map(() => headers), options],
    { queue },
  );
  return String(ids).split(",").map(BigInt);
}

/** A row of `receive_messages`, read. */
export interface ReceivedRow {
  batchId: bigint;
  id: bigint;
  attempt: number;
  type: string;
  payload: string;
  headers: Record<string, unknown>;
  createdAt: Date;
  leasedUntil: Date;
  priority: number | null;
  key: string | null;
}

/** A receive that a crash undoes is only delivered again, so its own transaction need not wait for the disk. An ack waits. */
const withoutWaiting = ", (select set_config('synchronous_commit', 'off', true)) as commit";

export async function receiveMessages(
  db: Connection,
  queue: string,
  consumer: string,
  worker: string | null,
  max: number,
  leaseMs: number,
): Promise<ReceivedRow[]> {
  const rows = await db.rows(
    (s) => `
      select batch_id::text, message_id::text, attempt, type, payload, headers::text,
             (date_part('epoch', created_at) * 1000)::bigint::text as created_ms,
             (date_part('epoch', leased_until) * 1000)::bigint::text as leased_ms, priority::text, key${db.commitsEachStatement ? withoutWaiting : ""}
        from ${s}.receive_messages(queue => $1, consumer => $2, worker => $3, max_messages => $4, lease => $5::interval)`,
    [queue, consumer, worker, max, milliseconds(leaseMs)],
    { queue, consumer },
  );
  return rows.map((row) => ({
    batchId: BigInt(String(row["batch_id"])),
    id: BigInt(String(row["message_id"])),
    attempt: Number(row["attempt"]),
    type: String(row["type"]),
    payload: String(row["payload"]),
    headers: JSON.parse(String(row["headers"])) ?? {},
    createdAt: new Date(Number(row["created_ms"])),
    leasedUntil: new Date(Number(row["leased_ms"])),
    priority: row["priority"] === null ? null : Number(row["priority"]),
    key: typeof row["key"] === "string" ? row["key"] : null,
  }));
}

export async function ack(db: Connection, batchId: bigint): Promise<boolean> {
  const done = await db.value((s) => `select ${s}.ack(batch_id => $1) as value`, [String(batchId)]);
  return Number(done) === 1;
}

export async function ackMessages(db: Connection, batchId: bigint, messageIds: readonly bigint[]): Promise<boolean> {
  const done = await db.value(
    (s) => `select ${s}.ack(batch_id => $1, message_ids => $2::bigint[]) as value`,
    [String(batchId), messageIds.map(String)],
  );
  return Number(done) === 1;
}

export async function ackStrict(db: Connection, batchId: bigint, messageIds: readonly bigint[] | null): Promise<void> {
  await db.rows(
    (s) => `select ${s}.ack_strict(batch_id => $1, message_ids => $2::bigint[])`,
    [String(batchId), messageIds?.map(String) ?? null],
  );
}

export async function nack(
  db: Connection,
  batchId: bigint,
  messageIds: readonly bigint[],
  retryAfterMs: number,
  reason: string | null,
): Promise<number> {
  const given = await db.value(
    (s) =>
      `select ${s}.nack(batch_id => $1, message_ids => $2::bigint[], retry_after => $3::interval, reason => $4) as value`,
    [String(batchId), messageIds.map(String), milliseconds(retryAfterMs), reason],
  );
  return Number(given);
}

/** `retry`: ids, delays and reasons in parallel. */
export async function settle(
  db: Connection,
  batchId: bigint,
  retry: { ids: readonly bigint[]; afterMs: readonly number[]; reasons: readonly (string | null)[] },
  releaseIds: readonly bigint[],
): Promise<boolean> {
  const done = await db.value(
    (s) =>
      `select ${s}.settle(batch_id => $1, retry_ids => $2::bigint[], retry_after => $3::interval[], reasons => $4::text[], release_ids => $5::bigint[]) as value`,
    [String(batchId), retry.ids.map(String), retry.afterMs.map(milliseconds), retry.reasons, releaseIds.map(String)],
  );
  return Number(done) === 1;
}

export async function heartbeat(db: Connection, worker: string, ttlMs: number, session: string | null): Promise<void> {
  await db.rows(
    (s) => `select ${s}.heartbeat(worker => $1, ttl => $2::interval, session => $3)`,
    [worker, milliseconds(ttlMs), session],
  );
}

export async function holdSession(db: Connection, session: string): Promise<boolean> {
  return (await db.value((s) => `select ${s}.hold_session(session => $1) as value`, [session])) === true;
}

/** Milliseconds by the database's clock; negative when it is overdue. */
export async function nextDueInMs(db: Connection): Promise<number | null> {
  const ms = await db.value(
    (s) => `select (date_part('epoch', ${s}.next_due_at() - clock_timestamp()) * 1000)::bigint::text as value`,
    [],
  );
  return ms === null ? null : Number(ms);
}

export async function maintain(db: Connection, queue: string | null): Promise<number> {
  return Number(
    await db.value((s) => `select ${s}.maintain(queue => $1) as value`, [queue], queue === null ? {} : { queue }),
  );
}

function milliseconds(value: number): string {
  return `${Math.round(value)} milliseconds`;
}

export async function raiseIdleFlag(db: Connection, queue: string): Promise<boolean> {
  return (await db.value((s) => `select ${s}.raise_idle_flag(queue => $1) as value`, [queue], { queue })) === true;
}

export async function lowerIdleFlag(db: Connection, queue: string): Promise<boolean> {
  return (await db.value((s) => `select ${s}.lower_idle_flag(queue => $1) as value`, [queue], { queue })) === true;
}

export async function hasOpenSenders(db: Connection, queue: string): Promise<boolean> {
  return (await db.value((s) => `select ${s}.has_open_senders(queue => $1) as value`, [queue], { queue })) === true;
}
