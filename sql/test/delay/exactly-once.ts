import { expect } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { pause, randomFrom } from "../cursor/workload.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { drain, makeQueue } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

/** Payload → when it is due at the earliest, ms. */
type Ledger = Map<string, number>;

/**
 * Ten senders with random times and random transactions, two sessions that deliver, and tables that are collected all the time: every
 * message of a committed transaction comes once, none early, and no row is updated or deleted.
 */
export async function deliversOnceAndNotEarly(seconds: number, seed: number): Promise<void> {
  await using database = await freshDatabase();
  const random = randomFrom(seed);
  const admin = await database.connect();
  await makeQueue(admin);
  await hurryDelayed(admin);
  const before = await pointer(admin);
  const sent: Ledger = new Map();
  const received: string[] = [];
  const early: string[] = [];
  const phase = { sending: true, receiving: true };

  const senders = Array.from({ length: 10 }, async (_, i) => {
    const client = await database.connect();
    while (phase.sending) await sendSome(client, random, `${i}`, sent);
  });
  const others = [0, 1].map(() => repeat(database, phase, random, (client) => client.query("select pgque.maintain()")));
  others.push(
    repeat(database, phase, random, async (client) => {
      const payloads = await drain(client);
      received.push(...payloads);
      for (const payload of payloads) if (Date.now() < Number(payload.split(" ")[1])) early.push(payload);
    }),
  );
  await pause(seconds * 1000);
  phase.sending = false;
  await Promise.all(senders);
  try {
    await until(() => received.length >= sent.size, "everything that was sent has come");
  } finally {
    phase.receiving = false;
    await Promise.all(others);
  }
  expect(received.toSorted((x, y) => x.localeCompare(y))).toEqual(
    [...sent.keys()].toSorted((x, y) => x.localeCompare(y)),
  );
  expect(early).toEqual([]);
  expect(await updatesAndDeletes(admin)).toEqual([]);
  expect(await pointer(admin), "the store was collected").not.toBe(before);
}

async function pointer(admin: pg.Client): Promise<string> {
  const { rows } = await admin.query("select pg_sequence_last_value('pgque.delayed_soon_pointer') as value");
  return rows[0].value;
}

/** One transaction with a few messages, that commits or rolls back, at once or after a while. */
async function sendSome(client: pg.Client, random: () => number, name: string, sent: Ledger): Promise<void> {
  const mine: Ledger = new Map();
  await client.query("begin");
  for (let i = Math.floor(random() * 4); i >= 0; i--) {
    const delayMs = Math.floor(random() * 1500);
    const dueAt = Date.now() + delayMs;
    const payload = `${name}/${random()} ${dueAt}`;
    await client.query("select pgque.send('q', 'default', $1::text, $2)", [payload, { delay: delayMs / 1000 }]);
    mine.set(payload, dueAt);
  }
  if (random() < 0.05) await pause(random() * 1000);
  if (random() < 0.2) {
    await client.query("rollback");
    return;
  }
  await client.query("commit");
  for (const [payload, dueAt] of mine) sent.set(payload, dueAt);
}

async function repeat(
  database: TestDatabase,
  phase: { receiving: boolean },
  random: () => number,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = await database.connect();
  while (phase.receiving) {
    await work(client);
    await pause(random() * 20);
  }
}
