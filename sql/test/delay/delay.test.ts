import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { drain, maintain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
  b = await database.connect();
  await makeQueue(a);
});
afterEach(() => database.drop());

async function sendLater(client: pg.Client, payload: string, options: Record<string, unknown>): Promise<void> {
  await client.query("select pgque.send('q', 'default', $1::text, $2)", [payload, options]);
}

/** Maintains until so many messages have come. */
async function arrived(count: number, client = a): Promise<string[]> {
  const all: string[] = [];
  await until(async () => {
    await maintain(client);
    all.push(...(await drain(client)));
    return all.length >= count;
  }, `${count} messages arrive`);
  return all;
}

async function rows(table: string): Promise<number> {
  const { rows: found } = await a.query(`select count(*)::int as n from pgque.${table}`);
  return found[0].n;
}

test("a table of which nothing has been moved is left where it is, however large", async () => {
  await hurryDelayed(a);
  await a.query(
    "create or replace function pgque.delayed_soon_span() returns interval language sql immutable return interval '1 hour'",
  );
  await a.query(
    `select pgque.send_batch('q', 'default', array(select repeat('x', 500) from generate_series(1, 500)), null, '{"delay": "1 day"}')`,
  );
  const pointer = async (): Promise<string> =>
    (await a.query("select pg_sequence_last_value('pgque.delayed_later_pointer') as at")).rows[0].at;
  const before = await pointer();
  for (let i = 0; i < 3; i += 1) await maintain(a);
  expect(await pointer()).toBe(before);
  expect([await rows("delayed_later_0"), await rows("delayed_later_1")]).toEqual([500, 0]);
});

describe("a delayed message", () => {
  test("comes when it is due and not before, in the order of the times, with its id, type and headers", async () => {
    await sendLater(a, "second", { delay: 0.4 });
    await sendLater(a, "first", { delay: "200 ms", headers: { of: "first" } });
    const { rows: sent } = await a.query("select id, due_at from pgque.delayed_soon_0 order by due_at limit 1");
    const got: Awaited<ReturnType<typeof receive>>[] = [];
    await until(async () => {
      await maintain(a);
      const batch = await receive(a);
      if (batch.payloads.length > 0) got.push(batch);
      return got.length > 0;
    }, "the first comes");
    const { rows: now } = await a.query("select clock_timestamp() >= $1 as due", [sent[0].due_at]);
    expect(now[0].due).toBe(true);
    const [first] = got;
    expect([first?.ids[0], first?.payloads[0], first?.attempts[0]]).toEqual([sent[0].id, "first", 1]);
    // on a slow machine both are due by then
    expect([...(first?.payloads ?? []), ...(first?.payloads.length === 2 ? [] : await arrived(1))]).toEqual([
      "first",
      "second",
    ]);
  });

  test("with a time in the past comes at once", async () => {
    await sendLater(a, "late", { at: "2020-01-01T00:00:00Z" });
    expect(await drain(a)).toEqual(["late"]);
    expect(await rows("delayed_soon_0")).toBe(0);
  });

  test("waits far away when it is due in more than an hour, and comes near when the hour has come", async () => {
    await sendLater(a, "tomorrow", { delay: "1 day" });
    await sendLater(a, "soon", { delay: "59 min" });
    expect([await rows("delayed_later_0"), await rows("delayed_soon_0")]).toEqual([1, 1]);
    await maintain(a);
    expect([await rows("delayed_later_0"), await rows("delayed_soon_0")]).toEqual([1, 1]);
    await a.query("select pgque.move_delayed('delayed_later_0', 'soon', clock_timestamp() + '2 days')");
    await a.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '2 days')");
    expect(await drain(a)).toEqual(["soon", "tomorrow"]);
  });

  test("whose transaction was open while later ones were delivered is delivered once it commits, once", async () => {
    await b.query("begin");
    await sendLater(b, "open", { delay: 0.05 });
    await sendLater(a, "committed", { delay: 0.06 });
    expect(await arrived(1)).toEqual(["committed"]);
    await b.query("commit");
    expect(await arrived(1)).toEqual(["open"]);
    await maintain(a);
    expect(await drain(a)).toEqual([]);
  });

  test("of a transaction that rolls back never comes", async () => {
    await b.query("begin");
    await sendLater(b, "undone", { delay: 0.01 });
    await b.query("rollback");
    await sendLater(a, "done", { delay: 0.02 });
    expect(await arrived(1)).toEqual(["done"]);
    await maintain(a);
    expect(await drain(a)).toEqual([]);
  });

  test("of a queue that is dropped goes nowhere, not to the next queue with its number", async () => {
    await sendLater(a, "of the old queue", { delay: 0.3 });
    await a.query("select pgque.drop_queue('q', true)");
    await makeQueue(a);
    await sendLater(a, "of the new queue", { delay: 0.3 });
    expect(await arrived(1)).toEqual(["of the new queue"]);
    const { rows: log } = await a.query("select due_at from pgque.delayed_soon_0_log");
    expect(log.length).toBeGreaterThan(0);
  });

  test("comes to every consumer", async () => {
    await a.query(`select pgque.subscribe('q', 'd', '{"mode": "shared"}')`);
    await a.query(`select pgque.send_batch('q', 'default', array['x', 'y'], null, '{"delay": 0.01}')`);
    expect(await arrived(2)).toEqual(["x", "y"]);
    expect(await drain(a, "d")).toEqual(["x", "y"]);
  });
});

describe("delivery", () => {
  test("of a burst of 30,000 retries takes three steps, and each comes once", async () => {
    await a.query(
      "create or replace function pgque.moved_time_max() returns interval language sql immutable return interval '1 day'",
    );
    await a.query("select pgque.send_batch('q', array(select n::text from generate_series(1, 30000) as n))");
    const got = await receive(a, "c", 30_000);
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '1 ms')", [got.batch, got.ids]);
    const { rows: due } = await a.query("select max(due_at) as at from pgque.delayed_soon_0");
    await until(
      async () => (await a.query("select clock_timestamp() > $1 as over", [due[0].at])).rows[0].over,
      "all are due",
    );
    let steps = 0;
    while ((await maintain(a)) > 0) steps += 1;
    expect(steps).toBeLessThanOrEqual(5);
    const again: string[] = [];
    for (let batch = await receive(a, "c", 50_000); batch.payloads.length > 0; batch = await receive(a, "c", 50_000)) {
      again.push(...batch.payloads);
    }
    expect(again).toHaveLength(30_000);
    expect(new Set(again).size).toBe(30_000);
  });

  test("with nothing due writes nothing, not even a transaction id", async () => {
    await sendLater(a, "later", { delay: "1 min" });
    // remembers that the queue rests, once
    await maintain(a);
    await a.query("begin");
    await maintain(a);
    const { rows: xid } = await a.query("select pg_current_xact_id_if_assigned() as id");
    await a.query("commit");
    expect(xid).toEqual([{ id: null }]);
    expect(await rows("delayed_soon_0_log")).toBe(0);
  });

  test("by two sessions at once is left to one of them", async () => {
    await sendLater(a, "x", { delay: 0.3 });
    await b.query("begin");
    await until(async () => {
      await maintain(b);
      return (await b.query("select from pgque.delayed_soon_0_log")).rowCount === 1;
    }, "b has delivered it");
    await maintain(a);
    expect(await rows("delayed_soon_0_log"), "seen by a").toBe(0);
    await b.query("commit");
    await maintain(a);
    expect(await drain(a)).toEqual(["x"]);
  });
});

describe("a table that has mostly been moved", () => {
  /** 20,000 messages of which all but 100 have been delivered, in a table that may be collected. */
  async function mostlyMoved(): Promise<string[]> {
    const filler = "x".repeat(200);
    // not before everything has been delivered: the template, and with it the pointer, may be old
    await a.query("select setval('pgque.delayed_soon_pointer', pgque.pointer_to(0))");
    await a.query("select pgque.send_batch('q', 'filler', array_fill($1::text, array[20000]), null, $2)", [
      filler,
      { delay: "1 min" },
    ]);
    const left = Array.from({ length: 100 }, (_, i) => `left ${i}`);
    await a.query("select pgque.send_batch('q', 'left', $1::text[], null, $2)", [left, { delay: "30 min" }]);
    // one that is due while it is sent would not lie in the table at all
    await until(async () => (await deliver("2 min")) === 0, "the filler is delivered");
    expect(await arrived(20_000)).toHaveLength(20_000);
    await a.query(
      "select setval('pgque.delayed_soon_pointer', (((extract(epoch from now()) - 60) * 1000)::bigint << 10))",
    );
    return left;
  }

  /** What is due within so long comes now. */
  async function deliver(within: string, table = "delayed_soon_0"): Promise<number> {
    const { rows: found } = await a.query(
      "select pgque.move_delayed($1, null, clock_timestamp() + $2::interval)::int as n",
      [table, within],
    );
    return found[0].n;
  }

  const deliverAll = (): Promise<number> => deliver("1 hour", "delayed_soon_1");

  test("is truncated once what is left has been copied to the other one", async () => {
    const left = await mostlyMoved();
    // a call of maintain that has other tables to rotate comes to these the next time
    await until(async () => {
      await maintain(a);
      const { rows: found } = await a.query(
        "select pgque.pointer_segment(pg_sequence_last_value('pgque.delayed_soon_pointer')) as current",
      );
      return found[0].current === 1;
    }, "the other one takes over");
    await sendLater(a, "new", { delay: "31 min" });
    expect(await rows("delayed_soon_1"), "the other one takes inserts").toBe(1);
    await until(async () => {
      await maintain(a);
      const { rows: size } = await a.query("select pg_relation_size('pgque.delayed_soon_0') as bytes");
      return size[0].bytes === "0";
    }, "it is truncated");
    await deliverAll();
    expect(await drain(a)).toEqual([...left, "new"]);
    expect(await updatesAndDeletes(a)).toEqual([]);
  });

  test("is not truncated before a sender that still uses it has committed, and loses nothing of it", async () => {
    const left = await mostlyMoved();
    await b.query("begin");
    await sendLater(b, "sender", { delay: "32 min" });
    await until(async () => {
      await maintain(a);
      return (await rows("delayed_soon_1")) === left.length;
    }, "what is left has been copied");
    while ((await maintain(a)) > 0);
    expect(await rows("delayed_soon_0")).toBeGreaterThan(0);
    await b.query("commit");
    await until(async () => {
      await maintain(a);
      return (await rows("delayed_soon_0")) === 0;
    }, "it is truncated");
    await deliverAll();
    expect(await drain(a)).toEqual([...left, "sender"]);
  });

  test("delivers no message early of a sender that committed after it was collected", async () => {
    await b.query("begin");
    await sendLater(b, "late", { delay: "30 min" });
    await sendLater(a, "later", { delay: "40 min" });
    await a.query("select setval('pgque.delayed_soon_pointer', pgque.pointer_to(1))");
    await a.query("select pgque.compact_delayed('soon')");
    expect([await rows("delayed_soon_0"), await rows("delayed_soon_1")]).toEqual([1, 1]);
    await b.query("commit");
    await a.query("select pgque.deliver_due()");
    expect(await drain(a)).toEqual([]);
    await maintain(a);
    expect([await rows("delayed_soon_0"), await rows("delayed_soon_1")]).toEqual([0, 2]);
    await a.query("select pgque.deliver_delayed('q')");
    expect(await drain(a)).toEqual(["late", "later"]);
  });

  test("is not truncated while somebody reads it, and holds up nobody", async () => {
    const left = await mostlyMoved();
    await b.query("begin; lock table pgque.delayed_soon_0 in access share mode");
    while ((await maintain(a)) > 0);
    await sendLater(a, "meanwhile", { delay: 0.001 });
    expect(await arrived(1)).toEqual(["meanwhile"]);
    await b.query("commit");
    await until(async () => {
      await maintain(a);
      return (await rows("delayed_soon_0")) === 0;
    }, "it is truncated");
    await deliverAll();
    expect(await drain(a)).toEqual(left);
  });
});

describe("the time of a send", () => {
  test.each([
    [{ delay: -1 }, "from 0 to 100 years"],
    [{ delay: "-1 s" }, "from 0 to 100 years"],
    [{ delay: "101 years" }, "from 0 to 100 years"],
    [{ delay: "soon" }, 'expected delay to be from 0 to 100 years, got: "soon"'],
    [{ delay: "infinity" }, "from 0 to 100 years"],
    [{ delay: null }, "from 0 to 100 years"],
    [{ delay: 1e300 }, "from 0 to 100 years"],
    [{ at: "infinity" }, "within 100 years"],
    [{ at: "9999-01-01" }, "within 100 years"],
    [{ at: "tomorrow-ish" }, "within 100 years"],
    [{ at: true }, "within 100 years"],
    [{ at: "2030-01-01", delay: 1 }, "expected delay or at, got both"],
  ])("%j is refused", async (options, message) => {
    await expect(sendLater(a, "x", options)).rejects.toMatchObject({
      code: "PQ004",
      message: expect.stringContaining(message),
    });
  });

  test("is all that send_batch takes as options: headers are given for each message", async () => {
    await expect(
      a.query(`select pgque.send_batch('q', 'default', array['x'], null, '{"headers": {}}')`),
    ).rejects.toMatchObject({ code: "PQ004", message: "unknown option of a send: 'headers'" });
  });
});
