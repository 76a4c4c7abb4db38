import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { consumerName, createQueue, queue } from "../../adapters/support/pgque-queue.ts";
import { openDatabase, type BenchDatabase } from "../../runner/server.ts";
import { payloadDueAt } from "../../load/messages.ts";
import type { MicrobenchmarkContext } from "./microbenchmark.ts";

/** What every microbenchmark sends. */
export const payloadBytes = 75;

export const payload = (): string => payloadDueAt(performance.now(), payloadBytes);

export interface QueueDatabase extends BenchDatabase {
  admin: pg.Client;
}

/** A fresh database with one queue and one consumer, for whoever closes it. */
export async function openQueue(
  { server, synchronousCommit }: MicrobenchmarkContext,
  options: Record<string, unknown>,
  subscribe: Record<string, unknown> = { mode: "shared" },
): Promise<QueueDatabase> {
  const database = await openDatabase(server, synchronousCommit);
  try {
    const admin = await database.connect("admin");
    await createQueue(admin, options);
    await admin.query("select pgque.subscribe($1, $2, $3)", [queue, consumerName, subscribe]);
    return { ...database, admin };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Works in such a database, and drops it. */
export async function withQueue<T>(
  context: MicrobenchmarkContext,
  options: Record<string, unknown>,
  work: (database: QueueDatabase) => Promise<T>,
): Promise<T> {
  const database = await openQueue(context, options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Another queue beside the one that is there, with one consumer. */
export async function addQueue(admin: pg.Client, name: string, options: Record<string, unknown> = {}): Promise<void> {
  await admin.query("select pgque.create_queue($1, $2)", [name, options]);
  await admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared"}')`, [name, consumerName]);
}

/** One message in a transaction of its own. */
export async function send(client: pg.Client): Promise<void> {
  await client.query({ name: "send", text: "select pgque.send($1, $2, $3)", values: [queue, "default", payload()] });
}

export async function sendBatch(client: pg.Client, messages: number): Promise<void> {
  const payloads = Array.from({ length: messages }, payload);
  await client.query({
    name: "send_batch",
    text: "select pgque.send_batch($1, $2::text[])",
    values: [queue, payloads],
  });
}

export interface Batch {
  /** Null: there was nothing. */
  id: string | null;
  messages: number;
}

export async function receive(client: pg.Client, max: number): Promise<Batch> {
  const { rows } = await client.query<[string, string]>({
    name: "receive",
    text: "select batch_id::text, payload from pgque.receive_messages($1, $2, null, $3)",
    values: [queue, consumerName, max],
    rowMode: "array",
  });
  return { id: rows[0]?.[0] ?? null, messages: rows.length };
}

export async function ack(client: pg.Client, batch: Batch): Promise<void> {
  if (batch.id === null) return;
  const { rows } = await client.query<[number]>({
    name: "ack",
    text: "select pgque.ack($1::bigint)",
    values: [batch.id],
    rowMode: "array",
  });
  if (rows[0]?.[0] !== 1) throw new Error(`batch ${batch.id} could not be acked: its lease was lost`);
}

/** Receives and acks; how many messages there were. */
export async function finish(client: pg.Client, max: number): Promise<number> {
  const batch = await receive(client, max);
  await ack(client, batch);
  return batch.messages;
}

export async function segments({ admin }: QueueDatabase): Promise<number | undefined> {
  const { rows } = await admin.query<{ segments: number }>("select pgque.segment_count(1) as segments");
  return rows[0]?.segments;
}

/** How many the transaction of a call holds at its end. */
export async function locksOf(client: pg.Client, call: () => Promise<unknown>): Promise<number | undefined> {
  await client.query("begin");
  await call();
  const { rows } = await client.query<{ locks: number }>(
    // but for that of this statement
    "select count(*)::int as locks from pg_locks where pid = pg_backend_pid() and relation is distinct from 'pg_locks'::regclass",
  );
  await client.query("rollback");
  return rows[0]?.locks;
}

/**
 * Works while the server does nothing on its own account: no autovacuum, and these settings. Only on a server of our own; one that
 * was given is left as it is.
 */
export async function quietly<T>(
  { server }: MicrobenchmarkContext,
  admin: pg.Client,
  settings: Record<string, string>,
  work: () => Promise<T>,
): Promise<T> {
  if (!server.embedded) return work();
  const quiet = { autovacuum: "off", ...settings };
  try {
    for (const [name, value] of Object.entries(quiet)) await admin.query(`alter system set ${name} = '${value}'`);
    await apply(admin, quiet);
    return await work();
  } finally {
    for (const name of Object.keys(quiet)) await admin.query(`alter system reset ${name}`);
    await apply(admin, {});
  }
}

/** The checkpoint is not for its own sake: the process that takes it has read the settings before it, and is the one that applies them. */
async function apply(admin: pg.Client, expected: Record<string, string>): Promise<void> {
  await admin.query("select pg_reload_conf()");
  for (let tries = 0; !(await isSet(admin, expected)); tries++) {
    if (tries === 100) throw new Error(`the server did not take its settings: ${JSON.stringify(expected)}`);
    await sleep(20);
  }
  await admin.query("checkpoint");
}

async function isSet(admin: pg.Client, expected: Record<string, string>): Promise<boolean> {
  const { rows } = await admin.query<{ set: boolean }>(
    "select coalesce(bool_and(current_setting(key) = value), true) as set from jsonb_each_text($1)",
    [expected],
  );
  return rows[0]?.set ?? false;
}
