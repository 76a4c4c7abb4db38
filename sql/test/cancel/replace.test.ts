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

const postpone = (payload: string, more: object = {}, client = a): Promise<Answer> =>
  replace(payload, { if_waiting: "postpone", delay: 0.001, ...more }, client);
const deliver = () => a.query("select pgque.deliver_delayed('q')");

test("a message that waits is postponed as it was, also one that is delayed", async () => {
  const options = { headers: { from: "first", none: null }, expires_at: "2099-01-01T00:00:00Z", priority: 3 };
  await a.query("select pgque.create_queue('p', $1)", [{ allow_cancel: true, allow_expiry: true, priorities: 5 }]);
  await a.query("select pgque.subscribe('p', 'c')");
  const send = async (type: string, payload: string, more: object): Promise<Answer> => {
    const all = { dedupe_key: "k", if_waiting: "postpone", delay: 60, ...more };
    return (await a.query("select * from pgque.send_deduplicated('p', $1, $2, $3)", [type, payload, all])).rows[0];
  };
  const first = await send("one", "1", { ...options, delay: 0 });
  const second = await send("two", "2", { priority: 1 });
  const third = await send("three", "3", { delay: 0.001, headers: { from: "third" } });
  expect([first.deduplicated, second.deduplicated, third.deduplicated]).toEqual([false, true, true]);
  expect([second.replaced_id, third.replaced_id]).toEqual([first.id, second.id]);
  expect(await updatesAndDeletes(a)).toEqual([]);
  await a.query("select pgque.deliver_delayed('p')");
  const { rows } = await a.query("select * from pgque.receive_messages('p', 'c')");
  expect(rows).toMatchObject([
    { message_id: third.id, type: "one", payload: "1", headers: options.headers, priority: 3 },
  ]);
});

test("with one that waits for nobody, the new one is sent", async () => {
  await postpone("received");
  await deliver();
  expect([await drain(a, "c"), await drain(a, "d")]).toEqual([["received"], ["received"]]);
  const { id, ...sent } = await postpone("new");
  expect(sent).toEqual({ deduplicated: false, replaced_id: null });
  await a.query("select pgque.cancel('q', array[$1::bigint])", [id]);
  expect(await postpone("newer"), "one that was cancelled does not come back").toMatchObject(sent);
  await deliver();
  expect([await drain(a, "c"), await drain(a, "d")]).toEqual([["newer"], ["newer"]]);
});

test("of a message with a key, postponed, the key is kept", async () => {
  await a.query("select pgque.create_queue('l', $1)", [{ allow_cancel: true, partitions: 4 }]);
  await a.query("select pgque.subscribe('l', 'c', $1)", [{ mode: "ordered" }]);
  const send = (options: object) =>
    a.query("select pgque.send_deduplicated('l', 't', 'x', $1)", [
      { dedupe_key: "k", if_waiting: "postpone", delay: 0.001, ...options },
    ]);
  await send({ key: "its own", delay: 60 });
  await send({ key: "another" });
  await a.query("select pgque.deliver_delayed('l')");
  expect((await a.query("select key from pgque.receive_messages('l', 'c')")).rows).toEqual([{ key: "its own" }]);
});

test("of two that postpone at once, and one that receives, the message comes once", async () => {
  await postpone("old", { delay: 60 });
  await b.query("begin");
  await postpone("one", {}, b);
  const other = await blocked(observer, a, statement, [
    "other",
    { dedupe_key: "k", if_waiting: "postpone", delay: 0.001 },
  ]);
  await b.query("commit");
  expect((await other.result).rows[0]).toMatchObject({ deduplicated: true });
  await deliver();
  expect([await drain(a, "c"), await drain(a, "d")]).toEqual([["old"], ["old"]]);
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
    message: 'expected if_waiting to be keep, replace or postpone, got: "explode"',
  });
  await expect(send({ if_waiting: "postpone", dedupe_key: "k" })).rejects.toMatchObject({
    message: "expected if_waiting = postpone together with delay or at",
  });
  await a.query("select pgque.create_queue('plain')");
  await expect(send({ if_waiting: "replace", dedupe_key: "k" }, "plain")).rejects.toMatchObject({
    message: "queue 'plain' was created without allow_cancel",
  });
});
