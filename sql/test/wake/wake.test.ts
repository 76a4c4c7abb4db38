import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, ownServer, type TestDatabase } from "../../../test/support/database.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { drain, maintain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let sender: pg.Client;
let listener: pg.Client;
let worker: pg.Client;
/** How many notifications have come. */
let notified: number;
beforeEach(async () => {
  database = await freshDatabase();
  [sender, listener, worker] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(sender);
  notified = 0;
  listener.on("notification", ({ channel, payload }) => {
    expect([channel, payload]).toEqual(["pgque_q", ""]);
    notified += 1;
  });
  await listener.query(`listen "pgque_q"`);
});
afterEach(() => database.drop());

const raise = async (): Promise<void> => {
  const { rows } = await listener.query("select pgque.raise_idle_flag('q') as raised");
  expect(rows[0].raised).toBe(true);
};
const openSenders = async (): Promise<boolean> =>
  (await listener.query("select pgque.has_open_senders('q') as open")).rows[0].open;

/** A round trip of the listener, before which every notification of a transaction that has ended has come. */
const settled = (): Promise<unknown> => listener.query("select 1");

describe("a sender", () => {
  test("notifies at its commit when somebody sleeps, and not when nobody does", async () => {
    await send(sender, "awake");
    await settled();
    expect(notified).toBe(0);

    await raise();
    await sender.query("begin");
    await sender.query("select pgque.send('q', 'asleep'::text)");
    await settled();
    expect(notified, "before the commit").toBe(0);
    await sender.query("commit");
    await until(() => notified === 1, "the commit notifies");

    await listener.query("select pgque.lower_idle_flag('q')");
    await send(sender, "awake again");
    await settled();
    expect(notified).toBe(1);
  });

  test("that rolls back notifies nobody", async () => {
    await raise();
    await sender.query("begin");
    await send(sender, "undone");
    await sender.query("rollback");
    await settled();
    expect(notified).toBe(0);
  });

  test("that looked before the flag was up is seen until it ends, also when it is prepared", async () => {
    await sender.query("begin");
    await send(sender, "on its way");
    await raise();
    expect(await openSenders()).toBe(true);
    expect(await drain(worker)).toEqual([]);
    await sender.query("commit");
    expect(await openSenders()).toBe(false);
    expect(await drain(worker), "so the worker polls once more, and has it").toEqual(["on its way"]);
    expect(notified).toBe(0);
  });

  test("of a queue whose notify is off may prepare its transaction, and is seen until that ends", async () => {
    await using own = await ownServer();
    const [one, two] = [await own.connect(), await own.connect()];
    await one.query(`select pgque.create_queue('q', '{"notify": false}')`);
    await two.query("select pgque.raise_idle_flag('q')");
    await one.query("begin");
    await send(one, "x");
    await one.query("prepare transaction 'of a sender'");
    const open = (): Promise<pg.QueryResult> => two.query("select pgque.has_open_senders('q') as open");
    expect((await open()).rows).toEqual([{ open: true }]);
    await one.query("commit prepared 'of a sender'");
    expect((await open()).rows).toEqual([{ open: false }]);
  });

  test("that is cancelled again and again leaves no lock behind", { timeout: 60_000 }, async () => {
    const pid = await backendPid(sender);
    let cancelled = 0;
    for (let i = 0; i < 60; i++) {
      // many sends in one statement, so that the cancel comes in the middle of one
      const sending = sender
        .query("select count(pgque.send('q', 'x'::text)) from generate_series(1, 5000)")
        .catch((error: { code?: string }) => {
          if (error.code !== "57014") throw error;
          cancelled += 1;
        });
      await Promise.all([worker.query("select pg_sleep($2), pg_cancel_backend($1)", [pid, (i % 5) / 1000]), sending]);
    }
    expect(cancelled).toBeGreaterThan(30);
    const { rows } = await worker.query("select from pg_locks where locktype = 'advisory' and pid = $1", [pid]);
    expect(rows).toEqual([]);
  });
});

test("what is given back, delivered later or sent again wakes as a send does", async () => {
  await send(sender, "x");
  let got = await receive(worker);
  await raise();
  await sender.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
    got.batch,
    got.ids,
  ]);
  await until(() => notified === 1, "a nack notifies");

  got = await receive(worker);
  await sender.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '10 ms')", [
    got.batch,
    got.ids,
  ]);
  const before = notified;
  await until(async () => {
    await maintain(sender);
    await settled();
    return notified > before;
  }, "a delivery notifies");

  got = await receive(worker, "c", 10, "1 ms");
  const beforeRecovery = notified;
  await until(async () => {
    await maintain(sender);
    await settled();
    return notified > beforeRecovery;
  }, "a recovery notifies");
});

const advisoryLocksHere = `
  select from pg_locks
   where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;

test("the flag of a session that ends is down", async () => {
  await raise();
  await listener.end();
  const other = await database.connect();
  let heard = 0;
  other.on("notification", () => (heard += 1));
  await other.query(`listen "pgque_q"`);
  await until(async () => (await other.query(advisoryLocksHere)).rowCount === 0, "it is down");
  await send(sender, "x");
  await other.query("select 1");
  expect(heard).toBe(0);
});
