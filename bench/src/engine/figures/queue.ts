import type pg from "pg";
import { openDatabase, type BenchDatabase } from "../../database.ts";
import { payloadDueAt } from "../../load/payload.ts";
import { consumerName, createQueue, queue } from "../../adapters/support/pgque-queue.ts";
import type { FigureContext } from "./figure.ts";

/** What every figure sends. */
export const payloadBytes = 75;

export const payload = (): string => payloadDueAt(performance.now(), payloadBytes);

export interface QueueDatabase extends BenchDatabase {
  admin: pg.Client;
}

/** Works in a fresh database with one queue and one consumer, and drops it. */
export async function withQueue<T>(
  { server, synchronousCommit }: FigureContext,
  options: Record<string, unknown>,
  work: (database: QueueDatabase) => Promise<T>,
  subscribe: Record<string, unknown> = { mode: "shared" },
): Promise<T> {
  const database = await openDatabase(server, synchronousCommit);
  try {
    const admin = await database.connect("admin");
    await createQueue(admin, options);
    await admin.query("select pgque.subscribe($1, $2, $3)", [queue, consumerName, subscribe]);
    return await work({ ...database, admin });
  } finally {
    await database.close();
  }
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
