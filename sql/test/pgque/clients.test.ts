import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";

// What PgQue's clients rely on: the loop of their Consumer, and what its functions answer.

let database: TestDatabase;
let client: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
  await client.query("select pgque.create_queue('orders'), pgque.subscribe('orders', 'billing')");
});
afterEach(() => database.drop());

const value = async (call: string, values: unknown[] = []): Promise<unknown> =>
  (await client.query(`select pgque.${call} as value`, values)).rows[0]?.value;
const code = (call: string, values: unknown[] = []): Promise<string> =>
  value(call, values).then(
    () => "no error",
    (error) => error.code,
  );

/** As many as their Consumer asks for. */
const asMany = 2_147_483_647;

type Row = Record<string, unknown> & { payload: string | null; batch_id: string };
async function receive(max = asMany): Promise<Row[]> {
  return (await client.query("select * from pgque.receive('orders', 'billing', $1)", [max])).rows;
}

const nack = (row: Row, after = "0 s"): Promise<unknown> =>
  value("nack($1, row($2, $1, $3, $4, null, null, null, null, null, null)::pgque.message, $5)", [
    row.batch_id,
    row["msg_id"],
    row["type"],
    row.payload,
    after,
  ]);

/** One round of their Consumer: receive, nack what the handler throws at, ack the batch, in one transaction. */
async function poll(handler: (payload: string | null) => void): Promise<number> {
  await client.query("begin");
  const rows = await receive();
  for (const row of rows) {
    try {
      handler(row.payload);
    } catch {
      await nack(row);
    }
  }
  if (rows[0]) expect(await value("ack($1)", [rows[0].batch_id])).toBe(1);
  await client.query("commit");
  return rows.length;
}

describe("the loop of a Consumer", () => {
  test("handles everything, and again what failed, until it is a dead letter", async () => {
    await value("set_queue_config('orders', 'max_retries', '1')");
    await value("send_batch('orders', array['good', 'bad', 'bad'])");
    const handled: (string | null)[] = [];
    const handler = (payload: string | null): void => {
      handled.push(payload);
      if (payload === "bad") throw new Error("bad");
    };
    expect(await poll(handler)).toBe(3);
    await value("send('orders', 'late')");
    // only what failed comes again, with what is new; then a batch that fails altogether is acked, too
    expect(await poll(handler)).toBe(3);
    expect(await poll(handler)).toBe(0);
    expect(handled.filter((payload) => payload === "bad")).toHaveLength(4);
    expect(new Set(handled)).toEqual(new Set(["bad", "good", "late"]));
    expect((await client.query("select from pgque.dlq_inspect('orders')")).rowCount).toBe(2);
    expect((await client.query("select from pgque.open_batches(1)")).rowCount).toBe(0);
  });

  test("is woken on its channel by ticker, force_next_tick or maintain, when there is something for it", async () => {
    const listener = await database.connect();
    const heard: string[] = [];
    listener.on("notification", ({ channel }) => heard.push(channel));
    await listener.query("listen pgque_orders");
    await value("ticker('orders')");
    await value("maintain('orders')");
    await value("send('orders', 'one')");
    expect(heard).toEqual([]);
    for (const [index, call] of ["ticker('orders')", "ticker()", "force_next_tick('orders')", "maintain()"].entries()) {
      await value(call);
      await until(() => heard.length === index + 1, `${call} has notified`);
    }
    expect(new Set(heard)).toEqual(new Set(["pgque_orders"]));
    expect(await poll(() => undefined)).toBe(1);
  });

  test("that acked nothing after the last nack of a batch goes on with the next batch", async () => {
    await value("send('orders', 'bad')");
    const [bad] = await receive();
    if (bad) await nack(bad, "1 h");
    await value("send('orders', 'next')");
    expect((await receive()).map(({ payload }) => payload)).toEqual(["next"]);
    expect((await client.query("select from pgque.open_batches(1)")).rowCount).toBe(1);
  });
});

describe("functions", () => {
  test("receive takes any count above 0", async () => {
    await value("send('orders', 'one')");
    expect(await code("receive('orders', 'billing', 0)")).toBe("PQ004");
    expect(await code("receive('orders', 'billing', null)")).toBe("PQ004");
    expect(await receive()).toHaveLength(1);
  });

  test("nack and event_retry of a batch that is unknown or finished are errors, ack of it is 0", async () => {
    await value("send('orders', 'one')");
    const [row] = await receive();
    expect(await value("ack($1)", [row?.batch_id])).toBe(1);
    expect(await nack(row as Row).catch((error) => [error.code, error.message])).toEqual([
      "PQ003",
      `batch not found: ${row?.batch_id}`,
    ]);
    expect(await code("event_retry($1, $2, 0)", [row?.batch_id, row?.["msg_id"]])).toBe("PQ003");
    expect(await code("event_retry(1, 1, 0)")).toBe("PQ003");
    expect(await value("ack($1)", [row?.batch_id])).toBe(0);
  });

  test("insert_event takes an event without type and data", async () => {
    await value("insert_event('orders', null, null)");
    expect(await receive()).toMatchObject([{ type: "default", payload: null }]);
  });

  test("a payload has no limit but that of Postgres", async () => {
    await value("send('orders', repeat('x', 2 * 1024 * 1024))");
    expect((await receive())[0]?.payload).toHaveLength(2 * 1024 * 1024);
  });

  test("ticker and force_next_tick answer a number that grows with what is sent", async () => {
    expect(await value("ticker('orders')")).toBe("0");
    await value("send('orders', 'one')");
    expect(await value("ticker('orders')")).toBe("1");
    expect(await value("force_next_tick('orders')")).toBe("1");
  });

  test("receive of a consumer with subconsumers is refused until they have left", async () => {
    await client.query("select from pgque.receive_coop('orders', 'workers', 'w1')");
    expect(await code("receive('orders', 'workers')")).toBe("PQ004");
    expect(await value("unsubscribe_subconsumer('orders', 'workers', 'w1')")).toBe(1);
    expect(await value("unsubscribe_subconsumer('orders', 'workers', 'w1')")).toBe(0);
    expect(await code("receive('orders', 'workers')")).toBe("no error");
  });

  test("a subconsumer whose batch was nacked message by message goes on with the next", async () => {
    await value("subscribe_subconsumer('orders', 'workers', 'w1')");
    const coop = async (): Promise<Row[]> =>
      (await client.query("select * from pgque.receive_coop('orders', 'workers', 'w1', $1)", [asMany])).rows;
    await value("send('orders', 'bad')");
    const [bad] = await coop();
    if (bad) await nack(bad, "1 h");
    await value("send('orders', 'next')");
    expect((await coop()).map(({ payload }) => payload)).toEqual(["next"]);
    expect(await code("unsubscribe_subconsumer('orders', 'workers', 'w1')")).toBe("PQ004");
    expect(await value("unsubscribe_subconsumer('orders', 'workers', 'w1', 1)")).toBe(1);
  });
});
