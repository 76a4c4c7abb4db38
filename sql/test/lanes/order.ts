import { expect } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { pause, randomFrom } from "../cursor/workload.ts";
import { messagesInserted, updatesAndDeletes } from "../support/statistics.ts";
import { makeLanes, subscribe } from "./support.ts";

const producers = 6;
const keysEach = 4;
const workers = 5;

/** What became of each number that was sent with a key. */
type Fate = "sent" | "committed" | "rolled back" | "settled";

class Key {
  readonly name: string;
  readonly fates: Fate[] = [];
  /** What was settled, and when its ack was asked for: the answer of one that has committed may come after all that another worker then does. */
  readonly handled: { number: number; asked: number }[] = [];
  /** Numbers of which an ack is under way: another worker may be given what comes next before its answer is here. */
  readonly asked = new Map<number, number>();

  constructor(name: string) {
    this.name = name;
  }

  /** What was committed before this number and is not handled. */
  unhandledBefore(number: number): number[] {
    return this.fates.flatMap((fate, n) => (n < number && fate === "committed" && !this.asked.get(n) ? [n] : []));
  }

  ask(number: number, by: 1 | -1): void {
    this.asked.set(number, (this.asked.get(number) ?? 0) + by);
  }
}

/**
 * Producers that send numbers for keys of their own, one transaction after the other, some rolled back, some slow; workers that ack, ack in
 * parts, fail, release, are too slow for their lease or vanish; rotation throughout. Whoever is given a message of a key checks that all
 * before it are settled, and that nobody else has one of its key in hand.
 */
export async function keepsOrder(durationMs: number, seed: number): Promise<void> {
  await using database = await freshDatabase();
  const random = randomFrom(seed);
  const admin = await database.connect();
  await makeLanes(admin, { partitions: 8, max_retries: 1000 });
  await subscribe(admin, { mode: "ordered" });
  const keys = new Map<string, Key>();
  const violations: string[] = [];
  const end = performance.now() + durationMs;
  const over = { sending: false, all: false };

  const producing = Array.from({ length: producers }, (_, p) =>
    produce(
      database,
      Array.from({ length: keysEach }, (_k, i) => keys.set(`${p}/${i}`, new Key(`${p}/${i}`)).get(`${p}/${i}`) as Key),
      random,
      end,
    ),
  );
  const working = Array.from({ length: workers }, (_, w) =>
    work(
      database,
      `w${w}`,
      keys,
      violations,
      random,
      () => over.sending,
      () => over.all,
    ),
  );
  const maintaining = (async () => {
    const client = await database.connect();
    while (!over.all) {
      await client.query("select pgque.maintain('q')");
      await pause(50);
    }
    await client.end();
  })();

  await Promise.all(producing);
  over.sending = true;
  await until(
    () => violations.length > 0 || [...keys.values()].every(({ fates }) => !fates.includes("committed")),
    "everything that was committed is settled",
    60_000,
  );
  over.all = true;
  await Promise.all([...working, maintaining]);

  expect(violations).toEqual([]);
  const fates = [...keys.values()].flatMap((key) => key.fates);
  expect(fates.filter((fate) => fate === "settled").length).toBeGreaterThan(100);
  expect(fates).toContain("rolled back");
  for (const key of keys.values()) {
    const handled = key.handled.toSorted((x, y) => x.asked - y.asked).map(({ number }) => number);
    expect(handled, key.name).toEqual(handled.toSorted((x, y) => x - y));
  }
  await until(async () => (await messagesInserted(admin)) >= fates.length, "the statistics have arrived");
  expect(await updatesAndDeletes(admin)).toEqual([]);
}

/** Sends no faster than is handled, or there would be no end to it. */
async function produce(database: TestDatabase, keys: Key[], random: () => number, end: number): Promise<void> {
  const client = await database.connect();
  const unsettled = (): number => keys.flatMap(({ fates }) => fates).filter((fate) => fate === "committed").length;
  while (performance.now() < end) {
    while (unsettled() > 50) await pause(10);
    const sent: [Key, number][] = [];
    await client.query("begin");
    for (let i = 1 + Math.floor(random() * 4); i > 0; i -= 1) {
      const key = keys[Math.floor(random() * keys.length)] as Key;
      const number = key.fates.push("sent") - 1;
      sent.push([key, number]);
      if (random() < 0.2) await client.query("savepoint s");
      await client.query("select pgque.send('q', 't', $1::text, $2)", [
        JSON.stringify([key.name, number, "x".repeat(100)]),
        { key: key.name },
      ]);
    }
    if (random() < 0.1) await pause(random() * 200);
    const commits = random() < 0.85;
    // before the commit: a worker may be faster than its answer
    for (const [key, number] of sent) key.fates[number] = commits ? "committed" : "rolled back";
    await client.query(commits ? "commit" : "rollback");
    await pause(random() * 5);
  }
  await client.end();
}

async function work(
  database: TestDatabase,
  name: string,
  keys: Map<string, Key>,
  violations: string[],
  random: () => number,
  isCalm: () => boolean,
  isOver: () => boolean,
): Promise<void> {
  const client = await database.connect();
  while (!isOver()) {
    const { rows } = await client.query(
      "select batch_id::text as batch, message_id::text as id, key, payload from pgque.receive_messages('q', 'c', $1, $2, $3)",
      [name, 1 + Math.floor(random() * 20), isCalm() ? "30 s" : "150 ms"],
    );
    if (rows.length === 0) await pause(5);
    else await handle(client, new Delivery(name, keys, violations, rows), isCalm() ? 0.99 : random(), random);
  }
  await client.end();
}

interface Row {
  batch: string;
  id: string;
  key: string;
  payload: string;
}

class Delivery {
  readonly batch: string;
  readonly messages: { id: string; key: Key; number: number }[];

  constructor(worker: string, keys: Map<string, Key>, violations: string[], rows: Row[]) {
    this.batch = rows[0]?.batch ?? "";
    this.messages = rows.map(({ id, key, payload }) => ({
      id,
      key: keys.get(key) as Key,
      number: JSON.parse(payload)[1],
    }));
    const before = new Map<Key, Set<number>>();
    for (const { key, number } of this.messages) {
      const mine = before.get(key) ?? new Set();
      before.set(key, mine);
      const skipped = key.unhandledBefore(number).filter((n) => !mine.has(n));
      if (skipped.length > 0) violations.push(`${worker} got ${key.name} ${number} before ${skipped.join(", ")}`);
      mine.add(number);
    }
  }

  /** Asks for the ack of the first messages, or all. */
  async ack(client: pg.Client, count: number): Promise<void> {
    const settled = this.messages.slice(0, count);
    const asked = performance.now();
    for (const { key, number } of settled) key.ask(number, 1);
    const { rows } = await client.query("select pgque.ack($1, $2::bigint[]) as done", [
      this.batch,
      settled.map(({ id }) => id),
    ]);
    for (const { key, number } of settled) {
      key.ask(number, -1);
      if (rows[0].done !== 1 || key.fates[number] === "settled") continue;
      key.handled.push({ number, asked });
      key.fates[number] = "settled";
    }
  }
}

async function handle(client: pg.Client, delivery: Delivery, dice: number, random: () => number): Promise<void> {
  const { batch, messages } = delivery;
  const half = Math.floor(messages.length / 2);
  // vanishes: its lease will end
  if (dice < 0.05) return;
  // is too slow, and says so too late
  if (dice < 0.1) await pause(200);
  if (dice < 0.25 && half > 0) await delivery.ack(client, half);
  if (dice < 0.15) return;
  const rest = dice < 0.25 ? messages.slice(half) : messages;
  if (dice < 0.35) {
    const failed = rest[Math.floor(random() * rest.length)] as { id: string };
    await client.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => $3)", [
      batch,
      [failed.id],
      random() < 0.5 ? "0 s" : "20 ms",
    ]);
  } else if (dice < 0.45) {
    await client.query("select pgque.settle($1, release_ids => $2)", [batch, rest.map(({ id }) => id)]);
  } else {
    if (random() < 0.3) await pause(random() * 30);
    await delivery.ack(client, messages.length);
  }
}
