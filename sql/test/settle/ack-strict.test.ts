import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, maintain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let worker: pg.Client;
let other: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [worker, other] = [await database.connect(), await database.connect()];
  await makeQueue(worker);
  await worker.query("create table public.work (done text)");
});
afterEach(() => database.drop());

const works = async (): Promise<number | null> => (await other.query("select from public.work")).rowCount;

test("work and ack commit together; while they are open the lease is not taken away", async () => {
  await send(worker, "x");
  const got = await receive(worker, "c", 10, "1 ms");
  await worker.query("begin");
  await worker.query("insert into public.work values ('x')");
  await worker.query("select pgque.ack_strict($1)", [got.batch]);
  for (let i = 0; i < 3; i++) await maintain(other);
  await worker.query("commit");
  expect(await works()).toBe(1);
  await maintain(other);
  expect(await drain(other)).toEqual([]);
});

test("work whose lease was lost rolls back", async () => {
  await send(worker, "x", "y");
  const got = await receive(worker, "c", 10, "1 ms");
  await until(async () => (await maintain(other)) > 0, "the lease is taken away");
  for (const ids of [null, [got.ids[0]]]) {
    await worker.query("begin");
    await worker.query("insert into public.work values ('x')");
    await expect(worker.query("select pgque.ack_strict($1, $2)", [got.batch, ids])).rejects.toMatchObject({
      code: "PQ006",
      message: `lease lost: batch ${got.batch}`,
    });
    await worker.query("rollback");
  }
  expect(await works()).toBe(0);
  expect(await drain(other)).toEqual(["x", "y"]);
});

test("a message that was settled before, in whatever way, is not acked strictly: its work is not this transaction's", async () => {
  await send(worker, "acked", "given back", "open");
  const got = await receive(worker);
  const [acked, back, open] = got.ids;
  await worker.query("select pgque.ack($1, $2)", [got.batch, [acked]]);
  await worker.query("select pgque.nack($1, $2::bigint[], '1 hour')", [got.batch, [back]]);
  for (const ids of [[acked], [back], [open, back]]) {
    await expect(worker.query("select pgque.ack_strict($1, $2)", [got.batch, ids])).rejects.toMatchObject({
      code: "PQ006",
    });
  }
  await worker.query("select pgque.ack_strict($1, $2)", [got.batch, [open, open]]);
  expect(await drain(worker)).toEqual([]);
});

test("some of a batch can be acked strictly, the rest later; an id that is not in it is refused", async () => {
  await send(worker, "x", "y");
  const got = await receive(worker);
  await worker.query("select pgque.ack_strict($1, $2)", [got.batch, [got.ids[0]]]);
  await expect(worker.query("select pgque.ack_strict($1, '{999}')", [got.batch])).rejects.toMatchObject({
    code: "PQ003",
  });
  expect(await ack(worker, got.batch)).toBe(1);
  await expect(worker.query("select pgque.ack_strict($1)", [got.batch])).rejects.toMatchObject({ code: "PQ006" });
});

test("many that are not committed keep nobody's dead batch from coming back", async () => {
  const open = 15;
  await send(worker, ...Array.from({ length: open + 1 }, (_, i) => String(i)));
  const received = [];
  for (let i = 0; i <= open; i += 1) received.push(await receive(worker, "c", 1, "1 ms"));
  const working = await Promise.all(Array.from({ length: open }, () => database.connect()));
  for (const [i, client] of working.entries()) {
    await client.query("begin");
    await client.query("select pgque.ack_strict($1)", [received[i]?.batch]);
  }
  await until(async () => (await maintain(other)) > 0, "the dead batch is recovered");
  expect((await receive(other)).payloads).toEqual([String(open)]);
  for (const client of working) await client.query("commit");
  expect(await drain(other)).toEqual([]);
});

test("under SERIALIZABLE a transaction that is run again after 40001 acks its batch, and its work is done once", async () => {
  await worker.query("select pgque.create_queue('next')");
  await send(worker, ...Array.from({ length: 40 }, (_, i) => `${i}`));
  const work = async (client: pg.Client): Promise<void> => {
    for (let got = await receive(client, "c", 2); got.payloads.length > 0; got = await receive(client, "c", 2)) {
      for (let isDone = false; !isDone;) {
        try {
          await client.query("begin isolation level serializable");
          await client.query("insert into public.work select unnest($1::text[])", [got.payloads]);
          await client.query("select pgque.send('next', 't', 'x'), pgque.ack_strict($1)", [got.batch]);
          await client.query("commit");
          isDone = true;
        } catch (error) {
          await client.query("rollback");
          if ((error as { code?: string }).code !== "40001") throw error;
        }
      }
    }
  };
  await Promise.all([work(worker), work(other)]);
  expect(await works()).toBe(40);
  expect((await other.query("select from pgque.open_batches(1)")).rowCount).toBe(0);
});
