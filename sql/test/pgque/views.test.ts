import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";

// What PgQue's tools read where its tables are.

let server: OwnServer;
let client: pg.Client;
let [first, second] = ["", ""];
beforeAll(async () => {
  server = await ownServer();
  client = await server.connect();
  await client.query("select pgque.create_queue('orders'), pgque.create_queue('secret')");
  await client.query("select pgque.subscribe('orders', 'billing'), pgque.subscribe('secret', 'spy')");
  await client.query(
    "select pgque.send('orders', 'paid', 'one'), pgque.send('orders', 'later', 'x', '{\"delay\": 60}')",
  );
  const { rows } = await client.query("select batch_id, message_id from pgque.receive_messages('orders', 'billing')");
  [first, second] = [rows[0].batch_id, rows[0].message_id];
  await client.query("select pgque.nack(batch_id => $1, message_ids => array[$2::bigint], retry_after => '1 hour')", [
    first,
    second,
  ]);
  await client.query("create role looker; create role receiver; create role writer; create role stray");
  await client.query("grant pgque_viewer to looker; grant pgque_writer to writer");
  await client.query("select pgque.grant_queue('orders', 'receiver', 'receive')");
});
afterAll(() => server.drop());

test("subscription has a row for each consumer, with its open batch", async () => {
  const { rows } = await client.query("select * from pgque.subscription");
  expect(rows).toEqual([
    {
      sub_id: 1,
      sub_queue: 1,
      sub_consumer: 1,
      sub_last_tick: null,
      sub_active: expect.any(Date),
      sub_batch: null,
      sub_next_tick: null,
      queue_name: "orders",
      consumer_name: "billing",
    },
    expect.objectContaining({ sub_queue: 2, sub_batch: null, sub_active: expect.any(Date), consumer_name: "spy" }),
  ]);
  await client.query("select pgque.send('secret', 'x')");
  const { rows: received } = await client.query("select batch_id from pgque.receive_messages('secret', 'spy')");
  const { rows: open } = await client.query("select sub_batch from pgque.subscription where consumer_name = 'spy'");
  expect(open).toEqual([{ sub_batch: received[0].batch_id }]);
});

test("retry_queue has what is to be tried again, and nothing that was sent with a delay", async () => {
  const { rows } = await client.query(
    "select *, ev_retry_after - clock_timestamp() > '59 min' as is_later from pgque.retry_queue",
  );
  expect(rows).toEqual([
    {
      ev_retry_after: expect.any(Date),
      ev_queue: 1,
      ev_id: second,
      ev_time: expect.any(Date),
      ev_txid: expect.stringMatching(/^\d+$/),
      ev_owner: 1,
      ev_retry: 1,
      ev_type: "paid",
      ev_data: "one",
      ev_extra1: null,
      ev_extra2: null,
      ev_extra3: null,
      ev_extra4: null,
      queue_name: "orders",
      consumer_name: "billing",
      is_later: true,
    },
  ]);
  await client.query("begin; select pgque.deliver_delayed('orders')");
  expect((await client.query("select from pgque.retry_queue")).rowCount).toBe(0);
  await client.query("rollback");
});

test("tick has a row for each queue, whose number grows with what is sent", async () => {
  const tick = async (): Promise<Record<string, unknown>[]> =>
    (await client.query("select *, tick_id = pgque.ticker(queue_name) as is_ticker from pgque.tick")).rows;
  const [before] = await tick();
  expect(before).toEqual({
    tick_queue: 1,
    tick_id: expect.any(String),
    tick_time: expect.any(Date),
    tick_snapshot: expect.any(String),
    tick_event_seq: before?.["tick_id"],
    queue_name: "orders",
    is_ticker: true,
  });
  await client.query("select pgque.send('orders', 'x')");
  const after = await tick();
  expect(after.map(({ queue_name }) => queue_name)).toEqual(["orders", "secret"]);
  expect(Number(after[0]?.["tick_id"])).toBe(Number(before?.["tick_id"]) + 1);
});

test.each(["subscription", "retry_queue", "tick"])(
  "%s is for those who may look, and for reading; a SELECT granted by hand shows nothing",
  async (view) => {
    const as = async (role: string, statement: string): Promise<number | null> => {
      await client.query("begin");
      await client.query(`set local role ${role}`);
      try {
        return (await client.query(statement)).rowCount;
      } finally {
        await client.query("rollback");
      }
    };
    const select = `select from pgque.${view}`;
    for (const role of ["looker", "pgque_reader", "pgque_admin"]) expect(await as(role, select)).toBeGreaterThan(0);
    await client.query(`grant usage on schema pgque to stray; grant select on pgque.${view} to stray, receiver`);
    for (const role of ["writer", "receiver", "stray"])
      await expect(as(role, select), role).rejects.toMatchObject({ code: "42501" });
    await expect(client.query(`delete from pgque.${view}`)).rejects.toMatchObject({ code: "55000" });
  },
);
