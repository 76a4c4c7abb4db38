import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { makeLanes, subscribe } from "../lanes/support.ts";
import { drain, maintain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

const statement = "select pgque.send_batch('q', 't', $1::text[], $2::jsonb[], $3) as ids";
type Keys = (string | null)[];
/** Each message's payload is its key with something added, unless said otherwise. */
const values = (keys: Keys, more = {}, payloads = keys.map((key, i) => `${key} ${i}`)): unknown[] => [
  payloads,
  null,
  { dedupe_keys: keys, ...more },
];
async function sendKeys(client: pg.Client, ...[keys, more, payloads]: Parameters<typeof values>): Promise<string[]> {
  return (await client.query(statement, values(keys, more, payloads))).rows[0].ids;
}

describe("Of the messages with one key the first is sent, the others are answered with its id", () => {
  beforeEach(() => makeQueue(a));

  test("and send_batch_deduplicated says which", async () => {
    await a.query(`select pgque.send('q', 't', 'k alone', '{"dedupe_key": "k"}')`);
    const say = "select id, deduplicated from pgque.send_batch_deduplicated('q', 't', $1::text[], $2::jsonb[], $3)";
    const sent = async (keys: Keys) => (await a.query(say, values(keys))).rows;
    const rows = await sent(["k", "l", null, "m", "l"]);
    expect(rows.map((row) => row.deduplicated)).toEqual([true, false, false, false, true]);
    expect(rows[4].id).toBe(rows[1].id);
    expect((await sent(["k", "l"])).map((row) => row.deduplicated)).toEqual([true, true]);
    expect(await sent([])).toEqual([]);
    expect((await a.query("select * from pgque.send_batch_deduplicated('q', 't', '{x,y}')")).rows).toHaveLength(2);
  });

  test("whether it was sent before, alone or in a batch, or in the same one", async () => {
    const { rows } = await a.query(`select pgque.send('q', 't', 'k alone', '{"dedupe_key": "k"}') as k`);
    const first = await sendKeys(a, ["k", "l", null, "m", "l", null, "l"]);
    expect(first[0]).toBe(rows[0].k);
    expect(first[4]).toBe(first[1]);
    expect(first[6]).toBe(first[1]);
    expect(new Set(first).size).toBe(5);
    expect(await sendKeys(b, ["m", "n", "k"])).toEqual([first[3], expect.any(String), first[0]]);
    expect((await a.query(`select pgque.send('q', 't', 'x', '{"dedupe_key": "l"}') as l`)).rows).toEqual([
      { l: first[1] },
    ]);
    expect(await drain(a)).toEqual(["k alone", "l 1", "null 2", "m 3", "null 5", "n 1"]);
    expect(await updatesAndDeletes(a)).toEqual([]);
  });

  test("nothing is inserted, and nobody is notified, when all have been sent", async () => {
    const first = await sendKeys(a, ["k", "l"]);
    await drain(a);
    let notified = 0;
    b.on("notification", () => (notified += 1));
    await b.query(`listen "pgque_q"`);
    await b.query("select pgque.raise_idle_flag('q')");
    expect(await sendKeys(a, ["l", "k"])).toEqual(first.toReversed());
    expect(await drain(a)).toEqual([]);
    await b.query("select 1");
    expect(notified).toBe(0);
    expect(await sendKeys(a, [])).toEqual([]);
  });

  test("with headers, each its own", async () => {
    await sendKeys(a, ["k"]);
    const headers = [{ n: 1 }, { n: 2 }, null, { n: 4 }];
    await a.query(statement, [["1", "2", "3", "4"], headers, { dedupe_keys: ["k", "l", "m", "l"] }]);
    const { rows } = await a.query("select payload, headers from pgque.receive_messages('q', 'c')");
    expect(rows).toEqual([
      { payload: "k 0", headers: null },
      { payload: "2", headers: { n: 2 } },
      { payload: "3", headers: null },
    ]);
  });

  test("keys are any text, and forgotten when their time to live is over", async () => {
    const keys = [`Zürich '; drop table x; -- ${"订".repeat(300)}`, "\\", "%s", '"', " "];
    const first = await sendKeys(a, keys, { dedupe_ttl: 0.2 });
    expect(new Set(first).size).toBe(5);
    await until(async () => (await sendKeys(b, keys)).every((id, i) => id !== first[i]), "the keys have run out");
    expect(await drain(a)).toHaveLength(10);
  });

  test("a thousand keys in one call, most of them used", async () => {
    const keys = Array.from({ length: 1000 }, (_, i) => `key ${i}`);
    const first = await sendKeys(a, keys.slice(0, 900));
    const ids = await sendKeys(b, keys.toReversed());
    expect(ids.toReversed().slice(0, 900)).toEqual(first);
    expect(await drain(a)).toHaveLength(1000);
  });

  test("keys are found across a rotation of their tables", async () => {
    await a.query(
      "create or replace function pgque.expiring_period() returns interval language sql immutable return interval '0 s'",
    );
    const first = await sendKeys(a, ["k"]);
    expect((await a.query("select pgque.rotate_expiring('dedupe') as n")).rows).toEqual([{ n: 1 }]);
    const second = await sendKeys(a, ["l", "k"]);
    expect(second[1]).toBe(first[0]);
    expect(await sendKeys(b, ["k", "l"])).toEqual([first[0], second[0]]);
  });
});

describe("together with other options", () => {
  test("a delay: a message has its key from when it is sent", async () => {
    await makeQueue(a);
    const first = await sendKeys(a, ["k", "k", "l"], { delay: 0.5 });
    expect(await sendKeys(b, ["l", "m"], { at: "2020-01-01T00:00:00Z" })).toEqual([first[2], expect.any(String)]);
    expect((await receive(a)).payloads).toEqual(["m 1"]);
    const got: string[] = [];
    await until(async () => {
      await maintain(a);
      got.push(...(await receive(a)).payloads);
      return got.length === 2;
    }, "they are due");
    expect(got.toSorted()).toEqual(["k 0", "l 2"]);
  });

  test("a priority and an end of their life", async () => {
    await makeLanes(a, { priorities: 10, allow_expiry: true });
    await subscribe(a, { mode: "shared" });
    await sendKeys(a, ["k", "k"], { priority: 3, ttl: 3600 });
    await sendKeys(a, ["k", "l"], { priority: 5, expires_at: "2020-01-01T00:00:00Z" });
    const { rows } = await a.query("select payload, lane, expires_at > now() as lives from pgque.message_1");
    expect(rows).toEqual([
      { payload: "k 0", lane: 3, lives: true },
      { payload: "l 1", lane: 5, lives: false },
    ]);
  });

  test("keys for order, each message's own, delayed or not", async () => {
    await makeLanes(a, { partitions: 16 });
    await sendKeys(a, ["d0"], { key: "o0" });
    await sendKeys(a, ["d0", "d1", "d2", "d1"], { keys: ["o0", "o1", null, "o3"] });
    await sendKeys(a, ["d2", "d4", "d5"], { keys: ["o2", "o4", "o5"], delay: 60 });
    const { rows } = await a.query(
      `select payload, key, lane = coalesce(pgque.lane_of_key(key, 16), lane) as right_lane from pgque.message_1
        union all
       select payload, key, lane = pgque.lane_of_key(key, 16) from pgque.delayed_soon_0`,
    );
    expect(rows).toEqual(
      [
        ["d0 0", "o0"],
        ["d1 1", "o1"],
        ["d2 2", null],
        ["d4 1", "o4"],
        ["d5 2", "o5"],
      ].map(([payload, key]) => ({ payload, key, right_lane: true })),
    );
  });
});

describe("at once", () => {
  beforeEach(() => makeQueue(a));

  test("who sends a key that another is just sending waits, and is answered with the id of the first", async () => {
    await a.query("begin");
    const first = await sendKeys(a, ["k", "l"]);
    const second = await blocked<{ ids: string[] }>(observer, b, statement, values(["m", "l", "k"]));
    const alone = await database.connect();
    const third = await blocked<{ id: string }>(
      observer,
      alone,
      `select pgque.send('q', 't', 'x', '{"dedupe_key": "k"}') as id`,
    );
    await a.query("commit");
    expect((await second.result).rows[0]?.ids).toEqual([expect.any(String), first[1], first[0]]);
    expect((await third.result).rows).toEqual([{ id: first[0] }]);
    expect(await drain(a)).toEqual(["k 0", "l 1", "m 0"]);
  });

  test("… or sends it, when the first rolls back, in whole or to a savepoint", async () => {
    await a.query("begin");
    await sendKeys(a, ["k", "l"]);
    const second = await blocked(observer, b, statement, values(["l", "m"]));
    await a.query("rollback");
    await second.result;
    await a.query("begin; savepoint s");
    await sendKeys(a, ["n"]);
    await a.query("rollback to s");
    await sendKeys(b, ["n"], {}, ["n of b"]);
    await a.query("commit");
    expect(await drain(a)).toEqual(["l 0", "m 1", "n of b"]);
  });

  // one that took its locks in the order of its keys would hold one that the other waits for, whichever is let go last
  test.each(["k", "l"])(
    "two batches with the same keys in opposite orders wait for each other not, with %s in their way",
    async (held) => {
      const holder = await database.connect();
      await holder.query("begin");
      await sendKeys(holder, [held]);
      const first = await blocked<{ ids: string[] }>(observer, a, statement, values(["k", "l"]));
      const second = await blocked<{ ids: string[] }>(observer, b, statement, values(["l", "k"]));
      await holder.query("rollback");
      const [{ ids }] = (await first.result).rows as [{ ids: string[] }];
      expect((await second.result).rows[0]?.ids).toEqual(ids.toReversed());
      expect(await drain(a)).toHaveLength(2);
    },
  );

  test("a batch that has looked for its keys before the pointer moved on twice is found by the next", async () => {
    await b.query("begin");
    await b.query("lock table pgque.dedupe_0 in exclusive mode");
    const first = await blocked<{ ids: string[] }>(observer, a, statement, values(["k", "l"]));
    await b.query("select setval('pgque.dedupe_pointer', pgque.pointer_to(1))");
    await b.query("select setval('pgque.dedupe_pointer', pgque.pointer_to(2))");
    await b.query("commit");
    const [{ ids }] = (await first.result).rows as [{ ids: string[] }];
    expect(await sendKeys(b, ["k", "l"])).toEqual(ids);
  });

  test("a transaction that cannot see what others have committed cannot use keys, and is told so", async () => {
    await a.query("begin isolation level repeatable read");
    await expect(sendKeys(a, ["k"])).rejects.toMatchObject({ code: "PQ005" });
    await a.query("rollback");
  });
});

describe("refused, with nothing sent and no key taken:", () => {
  const many = JSON.stringify(Array.from({ length: 1001 }, (_, i) => `${i}`));
  test.each([
    ["null", 1, "expected dedupe_keys to be an array of 1, as many as payloads, got: null"],
    ['"k"', 1, 'got: "k"'],
    ['["k", "l"]', 1, 'expected dedupe_keys to be an array of 1, as many as payloads, got: ["k", "l"]'],
    ["[]", 1, "got: []"],
    ['["k", 1]', 2, "expected each of dedupe_keys to be a string of 1 to 1000 bytes or null, got: 1"],
    ['["k", ""]', 2, 'got: ""'],
    [`["k", "${"é".repeat(501)}"]`, 2, "expected each of dedupe_keys to be a string of 1 to 1000 bytes or null"],
    [`["k", ["l"]]`, 2, 'got: ["l"]'],
    [many, 1001, "expected at most 1000 different dedupe_keys, got: 1001"],
  ])("%.40s for %i messages", async (keys, messages, message) => {
    await makeQueue(a);
    const send = a.query("select pgque.send_batch('q', 't', array_fill('x'::text, array[$1::int]), null, $2::jsonb)", [
      messages,
      `{"dedupe_keys": ${keys}}`,
    ]);
    await expect(send).rejects.toMatchObject({ code: "PQ004", message: expect.stringContaining(message) });
    expect(await drain(a)).toEqual([]);
    await sendKeys(b, ["k"]);
    expect(await drain(a)).toEqual(["k 0"]);
  });

  test.each([
    ['{"dedupe_key": "k"}', "unknown option of a send: 'dedupe_key'"],
    ['{"dedupe_ttl": 1}', "expected dedupe_ttl together with dedupe_keys"],
    ['{"dedupe_keys": ["k"], "dedupe_ttl": 0}', "expected dedupe_ttl to be longer than 0 and at most 30 days, got: 0"],
  ])("%s", async (options, message) => {
    await makeQueue(a);
    await expect(
      a.query("select pgque.send_batch('q', 't', '{x}'::text[], null, $1)", [options]),
    ).rejects.toMatchObject({ code: "PQ004", message });
    await expect(a.query(`select pgque.send('q', 't', 'x', '{"dedupe_keys": ["k"]}')`)).rejects.toMatchObject({
      message: "unknown option of a send: 'dedupe_keys'",
    });
    await expect(a.query(`select pgque.send('q', 't', 'x', '{"dedupe_ttl": 1}')`)).rejects.toMatchObject({
      message: "expected dedupe_ttl together with dedupe_key",
    });
  });
});
