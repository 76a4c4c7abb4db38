import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { keysOfTwoLanes, makeLanes, sendWith } from "../lanes/support.ts";
import { makeQueue, receive, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

/** Somebody who follows queue `q` from now on: `next` has the payloads that are new, page by page. */
function follower() {
  let position: string | null = null;
  return async (max = 100): Promise<string[]> => {
    const { rows } = await a.query(
      `select f.position, array(select payload from unnest(f.messages)) as payloads from pgque.tail('q', after => $1, max_messages => $2) f`,
      [position, max],
    );
    position = rows[0].position;
    return rows[0].payloads;
  };
}

test("begins with the last messages, whoever has received them, and goes on with what is new", async () => {
  await makeQueue(a);
  await send(a, "1", "2", "3");
  await receive(a, "c", 3);
  const next = follower();
  expect(await next(2)).toEqual(["2", "3"]);
  expect(await next()).toEqual([]);
  await send(a, "4", "5", "6");
  expect(await next(2)).toEqual(["4", "5"]);
  await send(a, "7");
  expect([...(await next(2)), ...(await next(2)), ...(await next(2))]).toEqual(["6", "7"]);
});

test("what commits late is shown, whatever has been shown behind it, and what rolls back never", async () => {
  await makeQueue(a);
  const [late, later, gone] = await Promise.all([database.connect(), database.connect(), database.connect()]);
  for (const [client, payload] of [
    [late, "late"],
    [later, "later"],
    [gone, "gone"],
  ] as const) {
    await client.query("begin");
    await send(client, payload, `${payload} too`);
  }
  await send(a, "1");
  const next = follower();
  expect(await next()).toEqual(["1"]);
  await send(a, "2");
  await late.query("commit");
  expect(await next(1)).toEqual(["late"]);
  await later.query("commit");
  await gone.query("rollback");
  expect([await next(1), await next(1)]).toEqual([["late too"], ["2"]]);
  expect(await next(1)).toEqual([]);
  expect(await next()).toEqual(["later", "later too"]);
  expect(await next()).toEqual([]);
});

test("what the transaction itself has sent is shown after it", async () => {
  await makeQueue(a);
  const next = follower();
  await next();
  await a.query("begin");
  await send(a, "own");
  expect(await next()).toEqual([]);
  await a.query("commit");
  expect(await next()).toEqual(["own"]);
});

test("a delayed message is shown when it is due, a retry not at all", async () => {
  await makeQueue(a);
  const next = follower();
  await next();
  await sendWith(a, { delay: 60 }, "soon");
  await send(a, "1");
  const { batch, ids } = await receive(a, "c", 1);
  await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [batch, ids]);
  expect(await next()).toEqual(["1"]);
  await a.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '2 min')");
  expect(await next()).toEqual(["soon"]);
});

test("across lanes in the order in which messages were sent", async () => {
  await makeLanes(a, { partitions: 16 });
  const [one, other] = await keysOfTwoLanes(a);
  const next = follower();
  await next();
  for (const [i, key] of [one, other, one, other].entries()) await sendWith(a, { key }, `${i}`);
  expect([await next(3), await next(3)]).toEqual([["0", "1", "2"], ["3"]]);
});

test("nothing is written, and no transaction id used", async () => {
  await makeQueue(a);
  await send(a, "1");
  const next = follower();
  const changed = await updatesAndDeletes(a);
  await a.query("begin");
  for (let i = 0; i < 3; i++) await next();
  expect((await a.query("select pg_current_xact_id_if_assigned() as id")).rows).toEqual([{ id: null }]);
  await a.query("commit");
  expect(await updatesAndDeletes(a)).toEqual(changed);
});

test.each(["", "x", "1/2", "1:1:/1:1:/x", "3:1:", "1:1:/1:1:/1.5/2"])("%j is no position", async (after) => {
  await makeQueue(a);
  await expect(a.query("select pgque.tail('q', after => $1)", [after])).rejects.toMatchObject({
    code: "PQ004",
    message: expect.stringContaining("expected after to be a position that follow has returned"),
  });
});

test("a queue that is not there is an error", async () => {
  await expect(a.query("select pgque.tail('nowhere')")).rejects.toMatchObject({ code: "PQ001" });
});
