import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

const subscribe = (consumer: string, options: unknown = {}): Promise<unknown> =>
  a.query("select pgque.subscribe('q', $1, $2)", [consumer, options]);
const skipped = async (consumer: string): Promise<number | null> =>
  (await a.query("select pgque.skipped_messages('q', $1) as count", [consumer])).rows[0].count;

describe("what a new consumer skips", () => {
  test("is what is kept, when it begins with what is sent from now on", async () => {
    await makeQueue(a, ["first"]);
    await send(a, "1", "2", "3");
    await subscribe("later");
    await send(a, "4");
    expect(await skipped("later")).toBe(3);
    await receive(a, "later");
    expect(await skipped("later")).toBe(3);
  });

  test("is nothing when it begins at the earliest, as the first one does, or when nothing was sent", async () => {
    await a.query("select pgque.create_queue('q')");
    await send(a, "1");
    await subscribe("first");
    await subscribe("replayed", { from: "earliest" });
    expect([await skipped("first"), await skipped("replayed")]).toEqual([0, 0]);
  });

  test("is neither another consumer's retries nor what has expired nor what is not committed", async () => {
    await makeQueue(a, ["first"], { allow_expiry: true });
    await send(a, "again");
    const { batch, ids } = await receive(a, "first");
    await a.query("select pgque.nack($1, $2::bigint[], retry_after => '0 s')", [batch, ids]);
    await a.query(`select pgque.send('q', 't', 'gone'::text, '{"ttl": "1 microsecond"}')`);
    const b = await database.connect();
    await b.query("begin");
    await send(b, "later");
    await subscribe("second");
    await b.query("commit");
    expect(await skipped("second")).toBe(1);
    expect((await receive(a, "second")).payloads).toEqual(["later"]);
  });

  test("is counted to 10,001 and no further, in all lanes", async () => {
    await makeQueue(a, ["first"], { partitions: 3 });
    await a.query(
      "select pgque.send_batch('q', 't', array(select 'x' from generate_series(1, 4000)), null, jsonb_build_object('key', k)) from unnest('{a,b,c,d}'::text[]) k",
    );
    await subscribe("second");
    expect(await skipped("second")).toBe(10_001);
  });
});

test("who asks for a consumer that is not there is told so", async () => {
  await makeQueue(a);
  await expect(skipped("nobody")).rejects.toMatchObject({ code: "PQ002" });
});
