import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { drain, makeQueue, receive } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";
import { run, schedule, timeAgo } from "./support.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;
beforeAll(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(a);
});
afterAll(() => database.drop());

/** As if nothing had been run and received yet. */
beforeEach(async () => {
  for (const client of [a, b]) await client.query("rollback");
  await a.query("truncate pgque.scheduled_run");
  await drain(a);
  await schedule(a, { enabled: true });
});

const call = "select pgque.run_schedule('s', $1) as id";

describe("a scheduled run", () => {
  test("sends the message, with headers that say of what and for when", async () => {
    await a.query("set time zone 'Asia/Tokyo'");
    await schedule(a, { type: "t", headers: { own: 1, schedule: "mine" } });
    const at = await timeAgo(a, "1 hour");
    const id = await run(a, at);
    const { rows } = await a.query("select message_id, type, payload, headers from pgque.receive_messages('q', 'c')");
    expect(rows).toEqual([
      {
        message_id: id,
        type: "t",
        payload: "wake up",
        headers: { own: 1, schedule: "s", run_at: new Date(at).toISOString().replace(".000", "") },
      },
    ]);
  });

  test("happens once for a time, and once for each", async () => {
    const [first, second] = [await timeAgo(a, "2 minutes"), await timeAgo(a, "1 minute")];
    await schedule(a, {}, "t");
    const ids = [await run(a, first), await run(b, first), await run(b, second), await run(a, first, "t")];
    expect(ids.map((id) => id !== null)).toEqual([true, false, true, true]);
    expect(await drain(a)).toHaveLength(3);
  });

  test("of a schedule that is switched off does not happen, and may happen when it is on again", async () => {
    const at = await timeAgo(a, "1 minute");
    await schedule(a, { enabled: false });
    expect(await run(a, at)).toBeNull();
    await schedule(a, { enabled: true });
    expect(await run(a, at)).not.toBeNull();
  });

  test("uses the priority or the key of the schedule", async () => {
    await a.query(`select pgque.create_queue('p', '{"priorities": 3}'), pgque.subscribe('p', 'c')`);
    await a.query(`select pgque.create_queue('k', '{"partitions": 3}'), pgque.subscribe('k', 'c')`);
    await a.query(`select pgque.schedule('p', 'p', '@daily', 'x', '{"priority": 2}')`);
    await a.query(`select pgque.schedule('k', 'k', '@daily', 'x', '{"key": "one"}')`);
    const at = await timeAgo(a, "1 minute");
    await run(a, at, "p");
    await run(a, at, "k");
    const { rows } = await a.query(
      "select priority, key from pgque.receive_messages('p', 'c') union all select priority, key from pgque.receive_messages('k', 'c')",
    );
    expect(rows).toEqual([
      { priority: 2, key: null },
      { priority: null, key: "one" },
    ]);
  });

  test("that twenty callers want at once happens once", async () => {
    const callers = await Promise.all(Array.from({ length: 20 }, () => database.connect()));
    for (const ago of ["3 minutes", "2 minutes", "1 minute"]) {
      const at = await timeAgo(a, ago);
      const ids = await Promise.all(callers.map((caller) => run(caller, at)));
      expect(ids.filter((id) => id !== null)).toHaveLength(1);
    }
    expect(await drain(a)).toHaveLength(3);
    await Promise.all(callers.map((caller) => caller.end()));
    expect(await updatesAndDeletes(a)).toEqual([]);
  });

  test.each(["read committed", "repeatable read", "serializable"])(
    "is waited for at %s, and has then happened",
    async (level) => {
      const at = await timeAgo(a, "1 minute");
      await b.query(`begin isolation level ${level}; select 1`);
      await a.query("begin");
      const id = await run(a, at);
      const second = await blocked<{ id: string | null }>(observer, b, call, [at]);
      await a.query("commit");
      expect((await second.result).rows).toEqual([{ id: null }]);
      await b.query("commit");
      expect((await receive(a)).ids).toEqual([id]);
      expect(await updatesAndDeletes(a)).toEqual([]);
    },
  );

  test("is not seen by an older snapshot, and still does not happen again", async () => {
    const at = await timeAgo(a, "1 minute");
    await b.query("begin isolation level repeatable read");
    await b.query("select from pgque.scheduled_run");
    await run(a, at);
    expect(await run(b, at)).toBeNull();
    await b.query("select pgque.send('q', 'the transaction goes on')");
    await b.query("commit");
    expect(await drain(a)).toEqual(["wake up", "the transaction goes on"]);
  });

  test("that rolls back happens by whoever waits for it, or comes later", async () => {
    const at = await timeAgo(a, "1 minute");
    await a.query("begin");
    await run(a, at);
    const waiting = await blocked<{ id: string | null }>(observer, b, call, [at]);
    await a.query("rollback");
    const id = (await waiting.result).rows[0]?.id;
    expect(id).not.toBeNull();
    expect((await receive(a)).ids).toEqual([id]);

    const next = await timeAgo(a, "30 s");
    await a.query("begin; savepoint s");
    await run(a, next);
    await a.query("rollback to s");
    expect(await run(b, next)).not.toBeNull();
    await a.query("commit");
  });

  test("of another time, or of another schedule, is not waited for", async () => {
    await schedule(a, {}, "t");
    const [first, second] = [await timeAgo(a, "2 minutes"), await timeAgo(a, "1 minute")];
    await a.query("begin");
    await run(a, first);
    expect(await run(b, second)).not.toBeNull();
    expect(await run(b, first, "t")).not.toBeNull();
    await a.query("commit");
  });
});
