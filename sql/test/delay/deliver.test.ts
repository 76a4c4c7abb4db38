import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { ack, drain, maintain, makeQueue, receive } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
  b = await database.connect();
});
afterEach(() => database.drop());

async function sendLater(client: pg.Client, payload: string, delay: string, queue = "q"): Promise<void> {
  await client.query("select pgque.send($1, 'default', $2::text, $3)", [queue, payload, { delay }]);
}

async function deliver(args = "'q'", client = a): Promise<number> {
  const { rows } = await client.query(`select pgque.deliver_delayed(${args})::int as n`);
  return rows[0].n;
}

async function waiting(): Promise<number> {
  const { rows } = await a.query("select delayed::int from pgque.queue_status('q')");
  return rows[0].delayed;
}

describe("what is delivered before its time", () => {
  test("comes from both stores, in the order in which it would have come due, once", async () => {
    await makeQueue(a);
    await sendLater(a, "in a day", "1 day");
    await sendLater(a, "in a minute", "1 min");
    await sendLater(a, "in an hour and a bit", "61 min");
    expect(await deliver()).toBe(3);
    expect(await drain(a)).toEqual(["in a minute", "in an hour and a bit", "in a day"]);
    expect([await deliver(), await waiting()]).toEqual([0, 0]);
    await maintain(a);
    expect(await drain(a)).toEqual([]);
  });

  test("is what is due by a time, and no more", async () => {
    await makeQueue(a);
    for (const delay of ["1 min", "59 min", "2 h", "1 day"]) await sendLater(a, delay, delay);
    expect(await deliver("'q', clock_timestamp() + interval '1 h'")).toBe(2);
    expect(await drain(a)).toEqual(["1 min", "59 min"]);
    expect(await deliver("'q', clock_timestamp()")).toBe(0);
    expect(await waiting()).toBe(2);
  });

  test("is one message alone, for all or for the consumer that it waits for", async () => {
    await makeQueue(a, ["c", "d"]);
    await sendLater(a, "other", "1 min");
    const { rows } = await a.query("select pgque.send('q', 't', 'wanted', '{\"delay\": 7200}') as id");
    expect(await deliver(`'q', message_id => ${rows[0].id}`)).toBe(1);
    expect(await drain(a, "d")).toEqual(["wanted"]);
    const { batch, ids } = await receive(a, "c");
    await a.query("select pgque.nack($1, $2::bigint[], interval '1 hour')", [batch, ids]);
    expect(await deliver(`'q', consumer => 'd', message_id => ${rows[0].id}`)).toBe(0);
    expect(await deliver(`'q', message_id => ${rows[0].id}`)).toBe(1);
    expect([await drain(a, "c"), await drain(a, "d")]).toEqual([["wanted"], []]);
    expect(await waiting()).toBe(1);
  });

  test("is one message of an ordered lane, with those that wait behind it", async () => {
    await a.query("select pgque.create_queue('q', '{\"partitions\": 2}')");
    await a.query('select pgque.subscribe(\'q\', \'c\', \'{"from": "earliest", "mode": "ordered"}\')');
    const { rows } = await a.query(
      "select k as other from unnest('{b,c,d,e,f}'::text[]) as k where pgque.lane_of_key(k, 2) <> pgque.lane_of_key('a', 2) limit 1",
    );
    for (const key of ["a", "a", rows[0].other]) await a.query("select pgque.send('q', 't', $1, $2)", [key, { key }]);
    const wanted: string[] = [];
    for (let i = 0; i < 2; i++) {
      const { batch, ids, payloads } = await receive(a);
      if (payloads[0] === "a") wanted.push(...ids);
      await a.query("select pgque.nack($1, $2::bigint[], interval '1 hour')", [batch, ids.slice(0, 1)]);
    }
    expect((await receive(a)).payloads).toEqual([]);
    expect(await deliver(`'q', message_id => ${wanted[0]}`)).toBe(2);
    expect((await receive(a)).payloads).toEqual(["a", "a"]);
    expect((await receive(a)).payloads).toEqual([]);
  });

  test("is the earliest, and what is due so long after it", async () => {
    await makeQueue(a);
    for (const delay of ["2 h", "3 h", "1 min", "90 s"]) await sendLater(a, delay, delay);
    const steps: string[][] = [];
    while ((await deliver("'q', within => '1 min'")) > 0) steps.push(await drain(a));
    expect(steps).toEqual([["1 min", "90 s"], ["2 h"], ["3 h"]]);
  });

  test("is of this queue, what is sent later waits for its time, and the others' come when they are due", async () => {
    await makeQueue(a);
    await a.query(`select pgque.create_queue('other'), pgque.subscribe('other', 'c', '{"mode": "shared"}')`);
    await sendLater(a, "theirs", "1 day", "other");
    await sendLater(a, "ours", "2 days");
    expect(await deliver()).toBe(1);
    await sendLater(a, "later", "1 h");
    await maintain(a);
    expect(await drain(a)).toEqual(["ours"]);
    const { rows } = await a.query("select queue_name as name, delayed::int from pgque.queue_status() order by 1");
    expect(rows).toEqual([
      { name: "other", delayed: 1 },
      { name: "q", delayed: 1 },
    ]);
  });

  test("is a retry for its consumer alone, and may be that consumer's and everybody's only", async () => {
    await makeQueue(a, ["c", "d"]);
    await a.query("select pgque.send('q', 'x')");
    for (const consumer of ["c", "d"]) {
      const { batch, ids } = await receive(a, consumer);
      await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '1 day')", [batch, ids]);
      await ack(a, batch);
    }
    await sendLater(a, "for both", "2 days");
    expect(await deliver("'q', consumer => 'c'")).toBe(2);
    expect((await receive(a, "c")).attempts).toEqual([2, 1]);
    expect((await receive(a, "d")).payloads).toEqual(["for both"]);
    expect(await deliver()).toBe(1);
    expect((await receive(a, "d")).attempts).toEqual([2]);
  });

  test("is not what an open transaction has sent, whose time has come or not", async () => {
    await makeQueue(a);
    await b.query("begin");
    await sendLater(b, "uncommitted", "1 min");
    await sendLater(a, "committed", "2 min");
    expect(await deliver()).toBe(1);
    await b.query("commit");
    expect(await drain(a)).toEqual(["committed"]);
    expect(await deliver()).toBe(1);
    expect(await drain(a)).toEqual(["uncommitted"]);
  });

  test("goes back to waiting when the transaction is rolled back", async () => {
    await makeQueue(a);
    await sendLater(a, "x", "1 min");
    await a.query("begin");
    expect(await deliver()).toBe(1);
    await a.query("rollback");
    expect([await waiting(), await drain(a)]).toEqual([1, []]);
  });

  test("is nobody's twice, when several deliver and maintain at once while tables are collected", async () => {
    await makeQueue(a);
    await hurryDelayed(a);
    const clients = [a, b, await database.connect(), await database.connect()];
    const sent = Array.from({ length: 400 }, (_, i) => String(i));
    const got: string[] = [];
    const work = clients.map(async (client, n) => {
      for (const [i, payload] of sent.entries()) {
        if (i % 4 !== n) continue;
        await sendLater(client, payload, i % 3 === 0 ? "1 ms" : i % 3 === 1 ? "1 min" : "1 day");
        if (i % 5 === 0) await deliver("'q'", client);
        if (i % 7 === 0) await maintain(client);
        if (i % 11 === 0) got.push(...(await drain(client)));
      }
    });
    await Promise.all(work);
    await deliver();
    got.push(...(await drain(a)));
    expect(got.toSorted((x, y) => Number(x) - Number(y))).toEqual(sent);
    expect(await waiting()).toBe(0);
  });
});

describe("of an ordered consumer", () => {
  test("a lane that waits is handed out, with the attempts that it has", async () => {
    await a.query(`select pgque.create_queue('q', '{"partitions": 16}')`);
    await a.query(`select pgque.subscribe('q', 'c', '{"mode": "ordered"}')`);
    for (const payload of ["first", "second"])
      await a.query("select pgque.send('q', 't', $1::text, '{\"key\": \"k\"}')", [payload]);
    const { batch, ids } = await receive(a);
    await a.query("select pgque.settle($1, retry_ids => $2, retry_after => '{1 day}', release_ids => $3)", [
      batch,
      ids.slice(0, 1),
      ids.slice(1),
    ]);
    expect((await receive(a)).payloads).toEqual([]);
    expect(await deliver("'q', clock_timestamp() + interval '1 h'")).toBe(0);
    expect(await deliver("'q', within => '0', consumer => 'c'")).toBe(2);
    expect(await receive(a)).toMatchObject({ payloads: ["first", "second"], attempts: [2, 1] });
    expect(await deliver()).toBe(0);
  });

  test("the lane of a key that was sent for later is found", async () => {
    await a.query(`select pgque.create_queue('q', '{"partitions": 16}')`);
    await a.query(`select pgque.subscribe('q', 'c', '{"mode": "ordered"}')`);
    await a.query(`select pgque.send('q', 't', 'now', '{"key": "k"}')`);
    await a.query(`select pgque.send('q', 't', 'later', '{"key": "k", "delay": "1 day"}')`);
    expect(await deliver()).toBe(1);
    expect((await receive(a)).payloads).toEqual(["now", "later"]);
  });
});
