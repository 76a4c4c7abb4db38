import type pg from "pg";

/** What the tests call most: plain SQL behind short names. */

/**
 * Creates a queue `q` that rotates whenever it is asked to, with these consumers from the earliest message on. The first queue of a database has
 * the number 1, which the tests rely on, also after one that was dropped.
 */
export async function makeQueue(
  client: pg.Client,
  consumers: string[] = ["c"],
  options: Record<string, unknown> = {},
): Promise<void> {
  const settings = { rotation_bytes: 8192, rotation_min_interval: "0 s", rotation_period: "1 day", ...options };
  await client.query("select setval('pgque.queue_number', 1, false) where not exists (select from pgque.queue)");
  await client.query("select pgque.create_queue('q', $1)", [settings]);
  for (const consumer of consumers)
    await client.query(`select pgque.subscribe('q', $1, '{"from": "earliest", "mode": "shared"}')`, [consumer]);
}

export async function send(client: pg.Client, ...payloads: string[]): Promise<void> {
  await client.query("select pgque.send_batch('q', $1::text[])", [payloads]);
}

/** Sends so much that the current segment is full. */
export async function fillSegment(client: pg.Client, prefix = "filler"): Promise<string[]> {
  const payloads = Array.from({ length: 100 }, (_, i) => `${prefix} ${i} ${"x".repeat(100)}`);
  await send(client, ...payloads);
  return payloads;
}

/** Fills so many segments that nobody has received. */
export async function fillRing(client: pg.Client, segments: number): Promise<string[]> {
  const sent: string[] = [];
  for (let i = 0; i < segments; i += 1) {
    sent.push(...(await fillSegment(client, `segment ${i}`)));
    const { bytes } = await ring(client);
    // a ring grows by itself only when its current segment holds as much as all others
    if (bytes.every((size) => size > 0)) await client.query("select pgque.grow_ring(1, $1)", [bytes.length]);
    await maintain(client);
    await maintain(client);
  }
  return sent;
}

export interface Received {
  batch: string;
  ids: string[];
  payloads: string[];
  attempts: number[];
}

export async function receive(
  client: pg.Client,
  consumer = "c",
  max = 1000,
  lease = "30 s",
  worker: string | null = null,
): Promise<Received> {
  const { rows } = await client.query(
    "select * from pgque.receive_messages('q', $1, worker => $2, max_messages => $3, lease => $4)",
    [consumer, worker, max, lease],
  );
  return {
    batch: rows[0]?.batch_id ?? "0",
    ids: rows.map((row) => row.message_id),
    payloads: rows.map((row) => row.payload),
    attempts: rows.map((row) => row.attempt),
  };
}

export async function ack(client: pg.Client, batch: string): Promise<number> {
  const { rows } = await client.query("select pgque.ack($1) as done", [batch]);
  return rows[0].done;
}

/** Receives and acks until nothing is left. */
export async function drain(client: pg.Client, consumer = "c"): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const got = await receive(client, consumer);
    if (got.payloads.length === 0) return all;
    all.push(...got.payloads);
    await ack(client, got.batch);
  }
}

export async function maintain(client: pg.Client): Promise<number> {
  const { rows } = await client.query("select pgque.maintain('q') as steps");
  return rows[0].steps;
}

/** The segment that takes inserts, and the bytes that each segment of queue 1 takes. */
export async function ring(client: pg.Client): Promise<{ current: number; bytes: number[] }> {
  const { rows } = await client.query(
    `select pgque.pointer_segment(pg_sequence_last_value('pgque.segment_pointer_1')) as current,
            array(select pgque.segment_bytes(1, s)::int from generate_series(0, pgque.segment_count(1) - 1) as s) as bytes`,
  );
  return rows[0];
}
