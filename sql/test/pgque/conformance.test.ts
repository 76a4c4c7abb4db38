import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

// What PgQue's clients in other languages call, as they call it: plain SQL, positional arguments.

let database: TestDatabase;
let client: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterEach(() => database.drop());

const value = async (call: string, values: unknown[] = []): Promise<unknown> =>
  (await client.query(`select pgque.${call} as value`, values)).rows[0]?.value;
const rows = async (call: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await client.query(`select * from pgque.${call}`, values)).rows;
const fails = async (call: string, values: unknown[] = []): Promise<{ code: string; message: string; hint: string }> =>
  client.query(`select * from pgque.${call}`, values).then(
    () => expect.fail(`expected to fail: ${call}`),
    (error) => error,
  );

const queue = async (): Promise<void> => {
  expect(await value("create_queue('orders')")).toBe(1);
  expect(await value("subscribe('orders', 'billing')")).toBe(1);
};

describe("queues", () => {
  test("create_queue: 1 created, 0 exists; drop_queue refuses while consumers are subscribed, unless forced", async () => {
    await queue();
    expect(await value("create_queue('orders')")).toBe(0);
    expect(await fails("drop_queue('orders')")).toMatchObject({ code: "PQ004" });
    expect(await value("drop_queue('orders', true)")).toBe(1);
    expect(await value("drop_queue('orders')")).toBe(0);
  });

  test("set_queue_config takes max_retries, rotation_period and the ticker's parameters, and names what it knows", async () => {
    await queue();
    for (const [param, to] of [
      ["max_retries", "3"],
      ["rotation_period", "1 hour"],
      ["ticker_max_count", "500"],
      ["ticker_max_lag", "3 seconds"],
      ["ticker_idle_period", "1 minute"],
    ])
      expect(await value("set_queue_config('orders', $1, $2)", [param, to])).toBe(1);
    expect((await fails("set_queue_config('orders', 'colour', 'red')")).hint).toContain("max_retries");
  });
});

describe("send", () => {
  beforeEach(queue);

  test("returns the message id; the type is default; text is stored verbatim, jsonb in canonical text, a literal is text", async () => {
    expect(typeof (await value("send('orders', '{\"b\":1,  \"a\":2}')"))).toBe("string");
    await value("send('orders', '{\"b\":1,  \"a\":2}'::jsonb)");
    await value("send('orders', 'created', '{\"b\":1,  \"a\":2}')");
    await value("send('orders', 'created', '{\"b\":1,  \"a\":2}'::jsonb)");
    await value("insert_event('orders', 'inserted', 'text')");
    expect((await rows("receive('orders', 'billing')")).map(({ type, payload }) => [type, payload])).toEqual([
      ["default", '{"b":1,  "a":2}'],
      ["default", '{"a": 2, "b": 1}'],
      ["created", '{"b":1,  "a":2}'],
      ["created", '{"a": 2, "b": 1}'],
      ["inserted", "text"],
    ]);
  });

  test("send_batch: ids in input order; an empty array gives an empty one, NULL is an error", async () => {
    const ids = (await value("send_batch('orders', array['a', 'b', 'c'])")) as string[];
    const typed = (await value("send_batch('orders', 'created', array['{}', '[1]']::jsonb[])")) as string[];
    const got = await rows("receive('orders', 'billing')");
    expect(got.map(({ msg_id }) => msg_id)).toEqual([...ids, ...typed]);
    expect(got.map(({ payload }) => payload)).toEqual(["a", "b", "c", "{}", "[1]"]);
    expect(await value("send_batch('orders', '{}'::text[])")).toEqual([]);
    expect(await fails("send_batch('orders', null::text[])")).toMatchObject({ code: "PQ004" });
  });
});

describe("consumers", () => {
  test("subscribe and register_consumer: 1 new, 0 exists; unsubscribe and unregister_consumer: 1 removed, 0 none", async () => {
    await queue();
    expect(await value("subscribe('orders', 'billing')")).toBe(0);
    expect(await value("register_consumer('orders', 'audit')")).toBe(1);
    expect(await value("unregister_consumer('orders', 'audit')")).toBe(1);
    expect(await value("unsubscribe('orders', 'audit')")).toBe(0);
  });

  test("the first consumer starts at the earliest message kept, later ones from now on", async () => {
    await value("create_queue('orders')");
    await value("send('orders', 'early')");
    await value("subscribe('orders', 'first')");
    await value("subscribe('orders', 'second')");
    await value("send('orders', 'late')");
    const payloads = async (consumer: string): Promise<unknown[]> =>
      (await rows("receive('orders', $1)", [consumer])).map(({ payload }) => payload);
    expect(await payloads("first")).toEqual(["early", "late"]);
    expect(await payloads("second")).toEqual(["late"]);
  });
});

describe("receive and ack", () => {
  beforeEach(queue);

  test("rows have PgQue's ten fields and one batch id; the batch comes again until it is acked", async () => {
    await value("send('orders', 'one')");
    const first = await rows("receive('orders', 'billing', 10)");
    expect(Object.keys(first[0] ?? {})).toEqual(
      "msg_id batch_id type payload retry_count created_at extra1 extra2 extra3 extra4".split(" "),
    );
    await value("send('orders', 'two')");
    expect(await rows("receive('orders', 'billing', 10)")).toEqual(first);
    expect(await value("ack($1)", [first[0]?.["batch_id"]])).toBe(1);
    expect(await value("ack($1)", [first[0]?.["batch_id"]])).toBe(0);
    const second = await rows("receive('orders', 'billing')");
    expect(second.map(({ payload }) => payload)).toEqual(["two"]);
    expect(await value("finish_batch($1)", [second[0]?.["batch_id"]])).toBe(1);
    expect(await rows("receive('orders', 'billing')")).toEqual([]);
  });

  test("only what was returned is in the batch: the rest comes after its ack", async () => {
    await value("send_batch('orders', array['a', 'b', 'c'])");
    const first = await rows("receive('orders', 'billing', 2)");
    await value("ack($1)", [first[0]?.["batch_id"]]);
    expect((await rows("receive('orders', 'billing', 2)")).map(({ payload }) => payload)).toEqual(["c"]);
  });

  test("the errors that PgQue's clients look for", async () => {
    expect((await fails("receive('nowhere', 'billing')")).message).toBe("queue not found: nowhere");
    expect((await fails("send('nowhere', 'x')")).message).toBe("queue not found: nowhere");
    expect((await fails("receive('orders', 'nobody')")).message).toBe("consumer not registered: nobody");
    expect(await fails("receive('orders', 'billing', 0)")).toMatchObject({ code: "PQ004" });
    const notices: (string | undefined)[] = [];
    client.on("notice", ({ message }) => notices.push(message));
    expect(await value("ack(1)")).toBe(0);
    expect(notices).toEqual(["batch not found: 1"]);
  });
});

describe("retries and dead letters", () => {
  beforeEach(queue);

  test("nack takes the received row, delays it, counts it, and the stream goes on", async () => {
    await value("send_batch('orders', array['bad', 'good'])");
    const [bad] = await rows("receive('orders', 'billing')");
    expect(await value("nack($1, $2::pgque.message, '0 s', 'reason')", [bad?.["batch_id"], composite(bad)])).toBe(1);
    expect(await value("ack($1)", [bad?.["batch_id"]])).toBe(1);
    await value("send('orders', 'next')");
    expect(
      (await rows("receive('orders', 'billing')")).map(({ payload, retry_count }) => [payload, retry_count]),
    ).toEqual([
      ["bad", 1],
      ["next", null],
    ]);
  });

  test("event_retry does as nack; what is due comes with maint_retry_events and maint", async () => {
    await value("send('orders', 'bad')");
    const [bad] = await rows("receive('orders', 'billing')");
    expect(await value("event_retry($1, $2, 0)", [bad?.["batch_id"], bad?.["msg_id"]])).toBe(1);
    expect(typeof (await value("maint_retry_events()"))).toBe("number");
    expect(typeof (await value("maint()"))).toBe("number");
    expect((await rows("receive('orders', 'billing')")).map(({ payload }) => payload)).toEqual(["bad"]);
  });

  test("with its retries used up a message is a dead letter, which is looked at, replayed and purged", async () => {
    await value("set_queue_config('orders', 'max_retries', '0')");
    const ids = (await value("send_batch('orders', array['a', 'b', 'c'])")) as string[];
    const got = await rows("receive('orders', 'billing')");
    for (const row of got)
      await value("nack($1, $2::pgque.message, '60 s', 'broken')", [row["batch_id"], composite(row)]);
    const dead = await rows("dlq_inspect('orders', 2)");
    expect(dead.map(({ message_id, reason }) => [message_id, reason])).toEqual([
      [ids[2], "broken"],
      [ids[1], "broken"],
    ]);
    expect(await value("dlq_replay($1)", [dead[0]?.["id"]])).toBe(ids[2]);
    expect(await value("dlq_replay_all('orders')")).toBe(2);
    expect(await value("dlq_purge('orders', '0 s')")).toBe(0);
    const again = await rows("receive('orders', 'billing')");
    expect(again).toHaveLength(3);
    await value("nack($1, $2::pgque.message, '60 s')", [again[0]?.["batch_id"], composite(again[0])]);
    expect(await value("dlq_purge('orders')")).toBe(0);
    expect(await value("dlq_purge('orders', '0 s')")).toBe(1);
  });

  test("a message that is not in the batch is refused", async () => {
    await value("send('orders', 'one')");
    const [row] = await rows("receive('orders', 'billing')");
    expect(await fails("event_retry($1, 12345, 0)", [row?.["batch_id"]])).toMatchObject({ code: "PQ003" });
  });
});

describe("subconsumers", () => {
  beforeEach(async () => {
    await value("create_queue('orders')");
    expect(await value("subscribe_subconsumer('orders', 'workers', 'w1')")).toBe(1);
    expect(await value("subscribe_subconsumer('orders', 'workers', 'w2')")).toBe(1);
    expect(await value("subscribe_subconsumer('orders', 'workers', 'w2')")).toBe(0);
  });
  const receive = (who: string, max: number): Promise<Record<string, unknown>[]> =>
    rows("receive_coop('orders', 'workers', $1, $2)", [who, max]);

  test("share the consumer's messages, each with a batch of its own that comes again until it is finished", async () => {
    await value("send_batch('orders', array['a', 'b', 'c', 'd'])");
    const first = await receive("w1", 2);
    const second = await receive("w2", 2);
    expect([...first, ...second].map(({ payload }) => payload)).toEqual(["a", "b", "c", "d"]);
    expect(await receive("w1", 2)).toEqual(first);
    await value("finish_batch($1)", [first[0]?.["batch_id"]]);
    expect(await receive("w1", 2)).toEqual([]);
    expect(await receive("w2", 2)).toEqual(second);
  });

  test("one that is silent for dead_interval loses its batch to the others; touch_subconsumer keeps it", async () => {
    await value("send('orders', 'a')");
    await rows("receive_coop('orders', 'workers', 'w1', 10, '1 ms')");
    expect(await value("touch_subconsumer('orders', 'workers', 'w1')")).toBe(1);
    await value("maintain('orders')");
    expect(await receive("w2", 10)).toEqual([]);
    await value("heartbeat('w1', '1 us')");
    await client.query("truncate pgque.heartbeat");
    await value("maintain('orders')");
    expect((await receive("w2", 10)).map(({ payload, retry_count }) => [payload, retry_count])).toEqual([["a", 1]]);
  });

  test("one that leaves with an open batch is refused, or gives it back without an attempt", async () => {
    await value("send('orders', 'a')");
    await receive("w1", 10);
    expect(await fails("unsubscribe_subconsumer('orders', 'workers', 'w1')")).toMatchObject({ code: "PQ004" });
    expect(await value("unsubscribe_subconsumer('orders', 'workers', 'w1', 1)")).toBe(1);
    expect(await value("unsubscribe_subconsumer('orders', 'workers', 'w1')")).toBe(0);
    expect((await receive("w2", 10)).map(({ payload, retry_count }) => [payload, retry_count])).toEqual([["a", null]]);
  });
});

describe("what schedules ticks and reads figures goes on working", () => {
  beforeEach(queue);

  test("ticker, force_next_tick and force_tick", async () => {
    expect(await value("ticker()")).toBe("1");
    expect(await value("ticker('orders')")).toBe("0");
    await value("send('orders', 'one')");
    expect(await value("force_next_tick('orders')")).toBe("1");
    expect(await value("force_tick('orders')")).toBe("1");
    expect((await fails("ticker('nowhere')")).message).toBe("queue not found: nowhere");
  });

  test("get_queue_info, get_consumer_info, status and version", async () => {
    await value("send('orders', 'one')");
    const [batch] = await rows("receive('orders', 'billing')");
    await value("send('orders', 'two')");
    const info = await rows("get_queue_info('orders')");
    expect(info).toEqual(
      await rows("get_queue_info()").then((all) => all.map((row) => ({ ...row, ev_per_sec: expect.any(Number) }))),
    );
    expect(info[0]).toMatchObject({ queue_name: "orders", queue_ntables: 3, queue_cur_table: 0, ticker_lag: {} });
    const [consumer] = await rows("get_consumer_info('orders', 'billing')");
    expect(consumer).toMatchObject({
      queue_name: "orders",
      consumer_name: "billing",
      current_batch: batch?.["batch_id"],
      pending_events: "1",
      mode: "exclusive",
    });
    expect(await rows("get_consumer_info('orders')")).toHaveLength(1);
    expect(await rows("get_consumer_info('orders', 'nobody')")).toHaveLength(0);
    expect(await rows("status()")).toContainEqual(expect.objectContaining({ component: "maintenance", status: "ok" }));
    expect(await value("version()")).toMatch(/^\d+\.\d+\.\d+/);
  });
});

/** A row as a client writes it for nack: a composite literal. */
function composite(row: object = {}): string {
  const fields = Object.values(row).map((field: string | number | Date | null) => {
    if (field === null) return "";
    const text = field instanceof Date ? field.toISOString() : String(field);
    return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '""')}"`;
  });
  return `(${fields.join(",")})`;
}
