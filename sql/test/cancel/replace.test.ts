import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { ack, drain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(a, ["c", "d"], { allow_cancel: true });
});
afterEach(() => database.drop());

interface Answer {
  id: string;
  deduplicated: boolean;
  replaced_id: string | null;
}
const statement = "select id, deduplicated, replaced_id from pgque.send_deduplicated('q', 't', $1, $2)";
async function replace(payload: string, more: object = {}, client = a): Promise<Answer> {
  const options = { dedupe_key: "k", if_waiting: "replace", ...more };
  return (await client.query(statement, [payload, options])).rows[0];
}

test("a message that waits is replaced, also one that is delayed, and the last one sent is delivered", async () => {
  const first = await replace("first", { delay: 60 });
  const second = await replace("second");
  expect([first.deduplicated, second.deduplicated]).toEqual([false, false]);
  expect([first.replaced_id, second.replaced_id]).toEqual([null, first.id]);
  const kept = { id: second.id, deduplicated: true, replaced_id: null };
  expect(await replace("kept", { if_waiting: "keep" })).toEqual(kept);
  await replace("third", { delay: 0.001 });
  expect(await updatesAndDeletes(a)).toEqual([]);
  await a.query("select pgque.deliver_delayed('q')");
  expect([await drain(a, "c"), await drain(a, "d")]).toEqual([["third"], ["third"]]);
});

test("what a consumer has received stays with it, and it is given the new one as well", async () => {
  await replace("old");
  const { batch } = await receive(a, "c");
  expect((await replace("new")).replaced_id, "the other consumer's").not.toBeNull();
  await ack(a, batch);
  expect([await drain(a, "c"), await drain(a, "d")]).toEqual([["new"], ["new"]]);
  expect((await replace("newer")).replaced_id, "nobody waits for it").toBeNull();
});

test("a receive sees the old message or the new one, and never both", async () => {
  await replace("old");
  await b.query("begin");
  await replace("new", {}, b);
  const first = await blocked(observer, a, "select payload from pgque.receive_messages('q', 'c')");
  await b.query("rollback");
  expect((await first.result).rows).toEqual([{ payload: "old" }]);
  await b.query("begin");
  await replace("newer", {}, b);
  const second = await blocked(observer, a, "select payload from pgque.receive_messages('q', 'd')");
  await b.query("commit");
  expect((await second.result).rows.map((row) => row["payload"])).not.toContain("old");
  expect(await drain(a, "d")).toEqual(["newer"].slice((await second.result).rows.length));
});

test("two that replace wait for each other, and one message is left", async () => {
  await replace("old");
  await b.query("begin");
  await replace("one", {}, b);
  const other = await blocked(observer, a, statement, ["other", { dedupe_key: "k", if_waiting: "replace" }]);
  await b.query("commit");
  await other.result;
  expect(await drain(a, "c")).toEqual(["other"]);
});

test("what cannot be replaced is refused", async () => {
  const send = (options: object, queue = "q") => a.query("select pgque.send($1, 't', 'x', $2)", [queue, options]);
  await expect(send({ if_waiting: "replace" })).rejects.toMatchObject({
    code: "PQ004",
    message: "expected if_waiting together with dedupe_key",
  });
  const wrong = [{ if_waiting: "replace" }];
  await expect(a.query("select pgque.send_deduplicated('q', 't', 'x', $1)", wrong)).rejects.toMatchObject({
    message: "expected if_waiting together with dedupe_key",
  });
  await expect(send({ if_waiting: "explode", dedupe_key: "k" })).rejects.toMatchObject({
    message: 'expected if_waiting to be keep or replace, got: "explode"',
  });
  await a.query("select pgque.create_queue('plain')");
  await expect(send({ if_waiting: "replace", dedupe_key: "k" }, "plain")).rejects.toMatchObject({
    message: "queue 'plain' was created without allow_cancel",
  });
});
