import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { makeQueue, receive, send, type Received } from "../support/queue.ts";

// A consumer with one batch at a time: while one worker has it, the others find nothing and sleep, whatever waits behind it.

let database: TestDatabase;
let a: pg.Client;
let sleeper: pg.Client;
let notified: number;
beforeEach(async () => {
  database = await freshDatabase();
  [a, sleeper] = [await database.connect(), await database.connect()];
  notified = 0;
  sleeper.on("notification", () => (notified += 1));
  await sleeper.query(`listen "pgque_q"`);
});
afterEach(() => database.drop());

async function subscribe(mode: string): Promise<void> {
  await makeQueue(a, [], { partitions: 1 });
  await a.query("select pgque.subscribe('q', 'c', $1)", [{ mode, from: "earliest" }]);
}

/** Raises the flag, and asks whether it may sleep. */
async function sleep(): Promise<{ open: boolean }> {
  expect((await sleeper.query("select pgque.raise_idle_flag('q') as up")).rows).toEqual([{ up: true }]);
  return (await sleeper.query("select pgque.has_open_senders('q') as open")).rows[0];
}

const settled: [string, (got: Received) => [string, unknown[]]][] = [
  ["ack of the batch", ({ batch }) => ["ack($1)", [batch]]],
  ["ack of its messages", ({ batch, ids }) => ["ack($1, $2::bigint[])", [batch, ids]]],
  ["settle that releases", ({ batch, ids }) => ["settle($1, release_ids => $2)", [batch, ids]]],
  ["settle that buries", ({ batch, ids }) => ["settle($1, dead_ids => $2)", [batch, ids]]],
  ["ack_strict", ({ batch }) => ["ack_strict($1)", [batch]]],
];

describe.each(["ordered", "exclusive"])("of an %s consumer", (mode) => {
  beforeEach(() => subscribe(mode));

  test.each(settled)("the %s wakes who sleeps, for what waits behind it", async (_name, call) => {
    await send(a, "1", "2");
    const got = await receive(a, "c", 1);
    await sleep();
    const [statement, values] = call(got);
    await a.query(`select pgque.${statement}`, values);
    await sleeper.query("select 1");
    expect(notified).toBe(1);
    expect((await receive(a, "c", 1)).payloads).toHaveLength(1);
  });

  test("an ack with nothing behind it wakes nobody", async () => {
    await send(a, "1");
    const got = await receive(a, "c", 1);
    await sleep();
    await a.query("select pgque.ack($1)", [got.batch]);
    await sleeper.query("select 1");
    expect(notified).toBe(0);
  });

  test("a worker does not sleep while an ack is not committed: what was sent since it looked is not missed", async () => {
    await send(a, "1");
    const got = await receive(a, "c", 1);
    await a.query("begin");
    await a.query("select pgque.ack($1)", [got.batch]);
    const b = await database.connect();
    await send(b, "2");
    const { open } = await sleep();
    expect(open).toBe(true);
    await a.query("commit");
    expect((await sleeper.query("select pgque.has_open_senders('q') as open")).rows).toEqual([{ open: false }]);
    expect((await receive(b, "c", 1)).payloads).toEqual(["2"]);
  });
});

test("the ack of a queue whose consumers share knows nothing of this", async () => {
  await subscribe("shared");
  await send(a, "1", "2");
  const got = await receive(a, "c", 1);
  await a.query("begin");
  await a.query("select pgque.ack($1)", [got.batch]);
  expect((await sleep()).open).toBe(false);
  await a.query("commit");
  const { rows } = await a.query("select prosrc from pg_proc where proname = 'ack_1'");
  expect(rows[0].prosrc).not.toContain("wake");
});
