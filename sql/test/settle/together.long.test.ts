import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { makeQueue, receive, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let admin: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  admin = await database.connect();
  await makeQueue(admin);
});
afterEach(() => database.drop());

const batches = 400;

/** Receives that many batches of one message, and lists them for all who settle them. */
async function openBatches(): Promise<void> {
  await admin.query("create table public.open (n int primary key, batch bigint, message bigint)");
  await send(admin, ...Array.from({ length: batches }, (_, n) => `${n}`));
  for (let n = 0; n < batches; n++) {
    const { batch, ids } = await receive(admin, "c", 1, "1 h");
    await admin.query("insert into public.open values ($1, $2, $3)", [n, batch, ids[0]]);
  }
}

/** Settles every batch in a transaction of its own, and says how many it was the one to settle. */
async function settleAll(client: pg.Client, call: string): Promise<number> {
  await client.query("set client_min_messages = error");
  await client.query("create temporary table mine (done int)");
  await client.query(`do $$
    declare
      o record;
    begin
      for o in select * from public.open order by n loop
        insert into mine select ${call};
        commit;
      end loop;
    end $$`);
  const { rows } = await client.query("select sum(done)::int as settled from mine");
  await client.end();
  return rows[0].settled;
}

// Who waits for another's transaction goes on when it ends, so that they stay side by side and meet at nearly every batch.
test.each([
  ["ack a batch", "pgque.ack(o.batch)"],
  ["ack the messages of a batch", "pgque.ack(o.batch, array[o.message])"],
  ["settle a batch", "pgque.settle(o.batch, release_ids => array[o.message])"],
])("of several who %s at the same moment one does, and no dead row is left", async (_name, call) => {
  await openBatches();
  const settlers = await Promise.all(Array.from({ length: 4 }, () => database.connect()));
  const settled = await Promise.all(settlers.map((client) => settleAll(client, call)));
  expect(settled.reduce((sum, of) => sum + of, 0)).toBe(batches);
  expect(await updatesAndDeletes(admin)).toEqual([]);
});
