import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { ack, maintain, makeQueue, receive, send } from "../support/queue.ts";
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

const storing = "select pgque.store_step($1, $2, $3, $4) as n";
async function store(batch: string, id: string, name: string, result: string | null, client = a): Promise<number> {
  return (await client.query(storing, [batch, id, name, result])).rows[0].n;
}
async function steps(id: string, consumer = "c"): Promise<[string, string | null][]> {
  const { rows } = await a.query("select name, result from pgque.steps('q', $1, $2)", [id, consumer]);
  return rows.map(({ name, result }) => [name, result]);
}

for (const [mode, options] of [
  ["shared", {}],
  ["ordered", { partitions: 2 }],
  ["exclusive", {}],
] as const)
  test(`steps outlive retries, snoozes, a lost lease and a redrive: ${mode}`, async () => {
    await makeQueue(a, [], { max_retries: 1, ...options });
    await a.query("select pgque.subscribe('q', 'c', $1)", [{ from: "earliest", mode }]);
    await send(a, "x");
    const again = async (settle: string): Promise<string> => {
      const { batch, ids } = await receive(a, "c", 10, "30 s");
      const [id = ""] = ids;
      expect(await store(batch, id, settle, '"of this attempt"')).toBe(1);
      await a.query(`select pgque.${settle}`, [batch, [id]]);
      return id;
    };
    const id = await again("snooze($1, $2, '0 s')");
    await again("nack(batch_id => $1, message_ids => $2, retry_after => '0 s')");
    await again("bury($1, $2, 'why')");
    await a.query("select pgque.redrive('q')");
    const lost = await receive(a, "c", 10, "1 ms");
    await store(lost.batch, id, "before the crash", null);
    let found = await receive(a, "c");
    await until(async () => {
      if (found.ids.length === 0) await maintain(a);
      if (found.ids.length === 0) found = await receive(a, "c");
      return found.ids.length > 0;
    }, "the message comes again");
    expect(found.ids).toEqual([id]);
    expect((await steps(id)).map(([name]) => name)).toEqual([
      "snooze($1, $2, '0 s')",
      "nack(batch_id => $1, message_ids => $2, retry_after => '0 s')",
      "bury($1, $2, 'why')",
      "before the crash",
    ]);
  });

test("the first result of a name stays, also when two store it at once", async () => {
  await makeQueue(a);
  await send(a, "x");
  const { batch, ids } = await receive(a);
  const [id = ""] = ids;
  await a.query("begin");
  await store(batch, id, "charge", "1");
  const second = await blocked(observer, b, storing, [batch, id, "charge", "2"]);
  await a.query("commit");
  await second.result;
  expect(await steps(id)).toEqual([["charge", "1"]]);
  expect(await steps(id, "other")).toEqual([]);
});

for (const mode of ["shared", "exclusive", "ordered"])
  test(`a worker that has lost its batch stores nothing: ${mode}`, async () => {
    await makeQueue(a, [], mode === "ordered" ? { partitions: 2 } : {});
    await a.query("select pgque.subscribe('q', 'c', $1)", [{ from: "earliest", mode }]);
    await send(a, "x");
    const lost = await receive(a, "c", 10, "1 ms");
    const [id = ""] = lost.ids;
    await until(async () => {
      await maintain(b);
      return (await receive(b)).ids.length > 0;
    }, "another has the message");
    expect(await store(lost.batch, id, "charge", "1")).toBe(0);
    expect(await steps(id)).toEqual([]);
  });

test("of a message that is settled, and of a batch that is unknown, nothing is stored", async () => {
  await makeQueue(a);
  await send(a, "x", "y");
  const { batch, ids } = await receive(b);
  await b.query("select pgque.ack($1, $2)", [batch, [ids[0]]]);
  expect(await store(batch, ids[0]!, "charge", "1")).toBe(0);
  expect(await store(batch, ids[1]!, "charge", "1")).toBe(1);
  expect(await store("0", ids[1]!, "charge", "1")).toBe(0);
});

test("recovery waits for a step that is being stored, or passes the batch over", async () => {
  await makeQueue(a);
  await send(a, "x");
  const { batch, ids } = await receive(a, "c", 10, "1 ms");
  await a.query("begin");
  expect(await store(batch, ids[0]!, "charge", "1")).toBe(1);
  await maintain(b);
  expect((await receive(b)).ids).toEqual([]);
  await a.query("commit");
  await until(async () => (await maintain(b)) > 0, "the lease is taken away");
  expect(await store(batch, ids[0]!, "mail", "1")).toBe(0);
  expect(await steps(ids[0]!)).toEqual([["charge", "1"]]);
});

test("steps of messages that are done are not kept, the others are", async () => {
  await makeQueue(a);
  await a.query(
    "create or replace function pgque.expiring_period() returns interval language sql immutable return interval '0 s'",
  );
  await send(a, "x", "y", "z");
  const { batch, ids } = await receive(a);
  for (const id of ids) await store(batch, id, "charge", id);
  await a.query("select pgque.forget_steps('q', 'c', $1)", [[ids[0], ids[1], "999"]]);
  const rotate = async (): Promise<number> => (await a.query("select pgque.rotate_expiring('step') as n")).rows[0].n;
  expect(await rotate()).toBe(1);
  await store(batch, ids[2]!, "mail", "1");
  expect([await rotate(), await rotate()]).toEqual([1, 1]);
  const { rows } = await a.query("select distinct message_id from pgque.step");
  expect(rows).toEqual([{ message_id: ids[2] }]);
  expect(await steps(ids[2]!)).toEqual([
    ["charge", ids[2]],
    ["mail", "1"],
  ]);
  await ack(a, batch);
  expect(await updatesAndDeletes(a)).toEqual([]);
});

test("what cannot be stored is refused", async () => {
  await makeQueue(a);
  await send(a, "x");
  const { batch, ids } = await receive(a);
  const refused = async (name: string | null, result: string): Promise<string> =>
    store(batch, ids[0]!, name as string, result).then(String, (error: Error) => error.message);
  expect([
    await refused("", "1"),
    await refused(null, "1"),
    await refused("x".repeat(201), "1"),
    await refused("it's", "{"),
    await refused("large", `"${"x".repeat(262_144)}"`),
  ]).toMatchInlineSnapshot(`
    [
      "expected the name of a step to have 1 to 200 bytes, got: ''",
      "expected the name of a step to have 1 to 200 bytes, got: NULL",
      "expected the name of a step to have 1 to 200 bytes, got: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
      "expected the result of step 'it''s' to be JSON, got: {",
      "expected the result of step 'large' to have at most 262144 bytes, got: 262146",
    ]
  `);
});
