import type pg from "pg";

/** What really happened, kept outside Postgres: the other half of every check. */
export interface Ledger {
  /** Payload → when its commit was known to be done, ms. Only committed messages. */
  committed: Map<string, number>;
  rolledBack: Set<string>;
  /** Payload → when its commit was asked for, ms. */
  commitAsked: Map<string, number>;
  /** Consumer → payloads in the order of receipt; only of receives that committed. */
  received: Map<string, string[]>;
}

export function newLedger(): Ledger {
  return { committed: new Map(), rolledBack: new Set(), commitAsked: new Map(), received: new Map() };
}

/** A small seeded generator (mulberry32), so that a failing run can be repeated. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function note(ledger: Ledger, consumer: string, payloads: string[]): void {
  const list = ledger.received.get(consumer);
  if (list) list.push(...payloads);
  else ledger.received.set(consumer, payloads);
}

export interface Task {
  client: pg.Client;
  queue: string;
  ledger: Ledger;
  random: () => number;
  /** Distinguishes the payloads of this task. */
  name: string;
  until: () => boolean;
}

/** How long a transaction stays open: mostly not at all, now and then up to two seconds. */
function heldForMs(random: () => number): number {
  const dice = random();
  if (dice < 0.8) return 0;
  return dice < 0.98 ? random() * 30 : random() * 2000;
}

/**
 * Sends in transactions that commit or roll back, with savepoints, open for up to two seconds; some of them receive for
 * `consumer` as well.
 */
export async function produce(task: Task, consumer: string): Promise<void> {
  const { client, queue, ledger, random } = task;
  for (let round = 0; !task.until(); round++) {
    const kept: string[] = [];
    const undone: string[] = [];
    const got: string[] = [];
    await client.query("begin");
    if (random() < 0.1) got.push(...(await receiveAndAck(client, queue, consumer, 1 + Math.floor(random() * 20))));
    for (let part = 0; part < 1 + Math.floor(random() * 4); part++) {
      const payloads = Array.from(
        { length: 1 + Math.floor(random() * 3) },
        (_, i) => `${task.name}/${round}/${part}/${i}`,
      );
      const savepoint = random() < 0.3;
      const undo = savepoint && random() < 0.5;
      if (savepoint) await client.query("savepoint part");
      if (random() < 0.5) await client.query("select pgque.send_batch($1, $2::text[])", [queue, payloads]);
      else for (const payload of payloads) await client.query("select pgque.send($1, $2::text)", [queue, payload]);
      if (undo) await client.query("rollback to part");
      (undo ? undone : kept).push(...payloads);
      const held = heldForMs(random);
      if (held > 0) await pause(held);
    }
    if (random() < 0.1) got.push(...(await receiveAndAck(client, queue, consumer, 1 + Math.floor(random() * 20))));
    for (const payload of undone) ledger.rolledBack.add(payload);
    if (random() < 0.2) {
      await client.query("rollback");
      for (const payload of kept) ledger.rolledBack.add(payload);
      continue;
    }
    const asked = performance.now();
    for (const payload of kept) ledger.commitAsked.set(payload, asked);
    await client.query("commit");
    const done = performance.now();
    for (const payload of kept) ledger.committed.set(payload, done);
    note(ledger, consumer, got);
  }
}

async function receiveAndAck(client: pg.Client, queue: string, consumer: string, max: number): Promise<string[]> {
  const { rows } = await client.query("select batch_id, payload from pgque.receive($1, $2, $3)", [
    queue,
    consumer,
    max,
  ]);
  if (rows.length > 0) await client.query("select pgque.ack($1)", [rows[0].batch_id]);
  return rows.map((row) => row.payload as string);
}

/**
 * Receives and acks in random sizes, in two calls or in one; some batches stay open for a while. Returns when told to and nothing is left.
 */
export async function consume(task: Task, consumer: string): Promise<void> {
  const { client, queue, ledger, random } = task;
  let finished: string[] = [];
  for (;;) {
    const over = task.until();
    const max = random() < 0.1 ? 1000 : 1 + Math.floor(random() * 100);
    const { rows } = await client.query(
      "select batch_id, payload from pgque.next_messages($1, $2, $3, max_messages => $4)",
      [queue, consumer, finished, max],
    );
    finished = [];
    if (rows.length === 0) {
      if (over) return;
      await pause(random() * 10);
      continue;
    }
    note(
      ledger,
      consumer,
      rows.map((row) => row.payload as string),
    );
    if (random() < 0.05) await pause(random() * 500);
    if (random() < 0.5) finished = [rows[0].batch_id];
    else await client.query("select pgque.ack($1)", [rows[0].batch_id]);
  }
}
