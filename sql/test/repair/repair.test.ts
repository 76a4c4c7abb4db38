import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type pg from "pg";
import {
  cloneOn,
  freshDatabase,
  ownServer,
  type OwnServer,
  type TestDatabase,
} from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { drain, makeQueue, receive, send } from "../support/queue.ts";
import { copyRows } from "./copy.ts";
import { checkRepaired, work } from "./work.ts";

/** A cluster that has hardly begun to count transactions. */
let young: OwnServer;

beforeAll(async () => {
  young = await ownServer();
});
afterAll(() => young.drop());

describe("after a copy of all rows, without sequences, what was not settled comes once and nothing else", () => {
  test("in a cluster whose transaction ids are lower", async () => {
    await using source = await freshDatabase();
    await useTransactionIds(await source.connect(), 3000);
    await copied("lower", source, young);
  });

  test("in a cluster whose transaction ids are higher", async () => {
    await using source = await cloneOn(young.server.url);
    await using target = await freshDatabase();
    await useTransactionIds(await target.connect(), 3000);
    await copied("higher", source, target);
  });

  async function copied(ids: "lower" | "higher", source: TestDatabase, target: TestDatabase): Promise<void> {
    const ledger = await work(source);
    const client = await target.connect();
    const [theirs, ours] = [await transactionIds(await source.connect()), await transactionIds(client)];
    expect(theirs < ours ? "higher" : "lower").toBe(ids);
    await copyRows(await source.connect(), client);
    await expect(client.query("select pgque.send('orders', 'too early')")).rejects.toMatchObject({ code: "PQ007" });
    const { rows } = await client.query("select * from pgque.repair()");
    expect(rows.map((row) => [row.queue_name, Number(row.delayed)])).toEqual([
      ["accounts", 0],
      ["alerts", 0],
      ["kept", 0],
      ["mails", 0],
      ["orders", 14],
      ["unread", 0],
    ]);
    await checkRepaired(target, ledger);
  }
});

describe("where the transaction ids are right, repair loses nothing and brings nothing back", () => {
  test("after an upgrade that changed the cluster's identifier, and when it is forced once more", async () => {
    await using database = await freshDatabase();
    const ledger = await work(database);
    const client = await database.connect();
    await client.query("update pgque.cluster_identity set system_identifier = system_identifier + 1");
    await expect(client.query("select pgque.maintain()")).rejects.toMatchObject({ code: "PQ007" });
    expect((await client.query("select * from pgque.repair()")).rowCount).toBe(6);
    expect((await client.query("select * from pgque.repair(force => true)")).rowCount).toBe(6);
    await checkRepaired(database, ledger);
  });

  test("and without force it does nothing, and says so", async () => {
    await using database = await freshDatabase();
    const client = await database.connect();
    const notices: string[] = [];
    client.on("notice", (notice) => notices.push(notice.message ?? ""));
    await makeQueue(client);
    await send(client, "a");
    const { batch } = await receive(client);
    expect((await client.query("select * from pgque.repair()")).rows).toEqual([]);
    expect(notices).toEqual(["nothing to repair: the schema is this cluster's"]);
    expect((await client.query("select pgque.ack($1) as done", [batch])).rows).toEqual([{ done: 1 }]);
  });
});

describe("a sender that was open when repair ran", () => {
  for (const [which, between] of [
    ["the last to have got a transaction id", "select 1"],
    ["not the last to have got a transaction id", "select pg_current_xact_id()"],
  ] as const) {
    test(`and was ${which} loses nothing of what it sends afterwards`, async () => {
      await using database = await freshDatabase();
      const client = await database.connect();
      const sender = await database.connect();
      await makeQueue(client);
      await sender.query("begin");
      await sender.query("select pg_current_xact_id()");
      await client.query(between);
      await client.query("select pgque.repair(force => true)");
      await send(sender, "first");
      await sender.query("commit");
      expect(await drain(client)).toEqual(["first"]);
    });
  }
});

describe("in another cluster's schema", () => {
  let client: pg.Client;
  let batch: string;
  let copy: TestDatabase;

  beforeAll(async () => {
    copy = await cloneOn(inject("serverUrl"));
    client = await copy.connect();
    await makeQueue(client);
    await send(client, "a", "b");
    ({ batch } = await receive(client, "c", 2));
    await client.query("update pgque.cluster_identity set row_xmin = '3'");
    // as with every restore, sessions begin after it
    client = await copy.connect();
  });
  afterAll(() => copy.drop());

  for (const call of [
    "send('q', 'x')",
    "send('q', 'default', 'x', '{\"delay\": 60}')",
    "send_batch('q', array['x'])",
    "receive('q', 'c')",
    "subscribe('q', 'new')",
    "seek('q', 'c', 'latest')",
    "maintain()",
    "maint_retry_events()",
    "redrive('q')",
  ]) {
    test(`${call} is refused, and says what to do`, async () => {
      const said = client.query(`select * from pgque.${call}`);
      await expect(said).rejects.toMatchObject({
        code: "PQ007",
        message: expect.stringContaining("found those of another"),
        hint: expect.stringContaining("call pgque.repair()"),
      });
    });
  }

  test("nack is refused; what was done under a lease may be acked", async () => {
    await expect(
      client.query("select pgque.nack(batch_id => $1, message_ids => '{1}')", [batch]),
    ).rejects.toMatchObject({ code: "PQ007" });
    expect((await client.query("select pgque.ack($1, '{1}') as done", [batch])).rows).toEqual([{ done: 1 }]);
  });

  test("a session that was refused goes on once it is repaired, at the same attempt", async () => {
    await expect(receive(client)).rejects.toMatchObject({ code: "PQ007" });
    const { rows } = await client.query("select * from pgque.repair()");
    expect(rows).toEqual([{ queue_name: "q", messages: "1", delayed: "0" }]);
    expect((await client.query("select pgque.ack($1) as done", [batch])).rows).toEqual([{ done: 0 }]);
    await send(client, "c");
    const again = await receive(client);
    expect(again).toMatchObject({ payloads: ["b"], attempts: [1] });
    expect((await client.query("select pgque.ack($1) as done", [again.batch])).rows).toEqual([{ done: 1 }]);
    expect(await drain(client)).toEqual(["c"]);
  });

  test("repair needs READ COMMITTED", async () => {
    await client.query("begin isolation level repeatable read");
    await expect(client.query("select pgque.repair()")).rejects.toMatchObject({ code: "PQ005" });
    await client.query("rollback");
  });
});

test("what copies blocks copies an identity that is right, and so does a rewrite of the table", async () => {
  await using copy = await cloneOn(inject("serverUrl"));
  const client = await copy.connect();
  expect((await client.query("select pgque.is_same_cluster()")).rows).toEqual([{ is_same_cluster: true }]);
  await client.query("vacuum (freeze, full) pgque.cluster_identity");
  expect((await client.query("select pgque.is_same_cluster()")).rows).toEqual([{ is_same_cluster: true }]);
});

test("in whose cluster a schema is, is looked up once in a session for each function, however often that is called", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  await makeQueue(admin);
  const client = await database.connect();
  await client.query("set track_functions = 'all'");
  for (let i = 0; i < 50; i++) {
    await send(client, "x");
    await client.query("select pgque.send('q', 'x')");
    await receive(client);
  }
  await client.end();
  const calls = new Map<string, number>();
  await until(async () => {
    const { rows } = await admin.query("select funcname as name, calls::int from pg_stat_user_functions");
    for (const { name, calls: count } of rows) calls.set(name, count);
    return calls.get("receive_1") === 50;
  }, "the statistics of the session have arrived");
  expect(calls.get("send_1")).toBe(50);
  // a plan is made some five times before it is kept
  expect(calls.get("is_same_cluster")).toBeLessThanOrEqual(3 * 6);
});

async function transactionIds(client: pg.Client): Promise<bigint> {
  const { rows } = await client.query("select pg_snapshot_xmax(pg_current_snapshot())::text as xmax");
  return BigInt(rows[0].xmax);
}

/** As a cluster does that has been in use for longer. */
async function useTransactionIds(client: pg.Client, count: number): Promise<void> {
  await client.query(`do $$ begin for i in 1 .. ${count} loop perform pg_current_xact_id(); commit; end loop; end $$`);
}
