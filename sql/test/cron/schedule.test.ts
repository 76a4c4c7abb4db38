import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { makeQueue } from "../support/queue.ts";
import { run, schedule, timeAgo } from "./support.ts";

let database: TestDatabase;
let a: pg.Client;
beforeAll(async () => {
  database = await freshDatabase();
  a = await database.connect();
  await makeQueue(a);
  await a.query("select pgque.create_queue('other')");
});
afterAll(() => database.drop());
beforeEach(() => a.query("select pgque.unschedule('s')"));

const list = async (queue: string | null = null): Promise<Record<string, unknown>[]> =>
  (await a.query("select * from pgque.schedules($1)", [queue])).rows;

describe("a schedule", () => {
  test("is created once, and changed by the same call", async () => {
    expect(await schedule(a)).toBe(1);
    expect(await list()).toEqual([
      {
        name: "s",
        queue_name: "q",
        cron: "* * * * *",
        time_zone: "UTC",
        type: "default",
        payload: "wake up",
        options: {},
        catch_up: 1,
        enabled: true,
        created_at: expect.any(Date),
        changed_at: expect.any(Date),
        last_run_at: null,
      },
    ]);
    expect(await schedule(a), "just like that").toBe(0);
    const [before] = await list();
    expect(await schedule(a, { type: "t", time_zone: "Europe/Berlin", headers: { h: 1 } })).toBe(1);
    const [after] = await list();
    expect(after).toMatchObject({ type: "t", time_zone: "Europe/Berlin", options: { headers: { h: 1 } } });
    expect(after?.["created_at"]).toEqual(before?.["created_at"]);
    expect(Number(after?.["changed_at"])).toBeGreaterThan(Number(before?.["changed_at"]));
  });

  test("that was switched off stays so until it is asked to be on", async () => {
    await schedule(a);
    expect(await schedule(a, { enabled: false })).toBe(1);
    expect(await schedule(a, { type: "t" })).toBe(1);
    expect(await list()).toMatchObject([{ type: "t", enabled: false }]);
    expect(await schedule(a, { enabled: true, type: "t" })).toBe(1);
    expect(await list()).toMatchObject([{ enabled: true }]);
  });

  test("takes a payload in jsonb", async () => {
    await a.query(`select pgque.schedule('s', 'q', '@daily', jsonb_build_object('a', 1))`);
    expect(await list()).toMatchObject([{ payload: '{"a": 1}' }]);
  });

  test("can be moved to another queue, and is listed there", async () => {
    await schedule(a);
    await a.query("select pgque.schedule('s', 'other', '* * * * *')");
    expect(await list("q")).toEqual([]);
    expect(await list("other")).toMatchObject([{ name: "s", payload: null }]);
  });

  test("is removed by name, and with its queue", async () => {
    await schedule(a);
    await a.query("select pgque.create_queue('dropped'), pgque.schedule('of dropped', 'dropped', '@daily')");
    const unschedule = async (): Promise<number> => (await a.query("select pgque.unschedule('s') as n")).rows[0].n;
    expect([await unschedule(), await unschedule()]).toEqual([1, 0]);
    await a.query("select pgque.drop_queue('dropped')");
    expect(await list()).toEqual([]);
  });

  test("says when it was run last, also after it was made anew", async () => {
    await schedule(a);
    const [earlier, later] = [await timeAgo(a, "2 hours"), await timeAgo(a, "1 hour")];
    await run(a, later);
    await run(a, earlier);
    await a.query("select pgque.unschedule('s')");
    await schedule(a);
    expect(await list()).toMatchObject([{ last_run_at: new Date(later) }]);
    expect(await run(a, later)).toBeNull();
  });
});

describe("what cannot be", () => {
  test.each([
    [{ time_zone: "Mars/Olympus" }, "expected time_zone to be one that the server knows, got: Mars/Olympus"],
    [{ time_zone: 1 }, "expected time_zone to be a string, got: 1"],
    [{ time_zone: null }, "expected time_zone to be a string, got: null"],
    [{ enabled: "yes" }, 'expected enabled to be a boolean, got: "yes"'],
    [{ catch_up: "once" }, 'expected catch_up to be a number, got: "once"'],
    [{ catch_up: -1 }, "expected catch_up to be an integer from 0 to 1440, got: -1"],
    [{ catch_up: 1.5 }, "expected catch_up to be an integer from 0 to 1440, got: 1.5"],
    [{ catch_up: 1441 }, "expected catch_up to be an integer from 0 to 1440, got: 1441"],
    [{ type: null }, "expected type to be a string, got: null"],
    [{ delay: 1 }, "unknown option of a schedule: 'delay'"],
    [{ headers: [] }, "expected headers to be a JSON object, got: []"],
    [{ priority: 1 }, "queue 'q' has no priorities"],
    [{ key: "k" }, "queue 'q' has no keys"],
  ])("%j is refused", async (options, message) => {
    await expect(schedule(a, options)).rejects.toMatchObject({ code: "PQ004", message });
  });

  test.each([
    ["PQ001", "queue not found: nowhere", "'s', 'nowhere', '@daily'"],
    ["PQ004", "expected the schedule name to have 1 to 57 bytes, got: NULL", "null, 'q', '@daily'"],
    ["PQ004", "expected the schedule name to have 1 to 57 bytes, got: '' (0 bytes)", "'', 'q', '@daily'"],
    ["PQ004", "expected cron to be an expression of 1 to 200 bytes, got: NULL", "'s', 'q', null"],
    ["PQ004", "expected cron to be an expression of 1 to 200 bytes, got: ' '", "'s', 'q', ' '"],
    ["PQ004", "expected cron to be an expression of 1 to 200 bytes", "'s', 'q', repeat('*', 201)"],
    ["PQ004", "payload too large: expected at most 100 bytes, got: 101", "'s', 'q', '@daily', repeat('x', 101)"],
    ["PQ004", "expected the options of a schedule to be a JSON object, got: []", "'s', 'q', '@daily', 'p', '[]'"],
    ["PQ004", "expected the options of a schedule to be a JSON object, got: NULL", "'s', 'q', '@daily', 'p', null"],
  ])("%s: %s", async (code, message, args) => {
    await a.query("select pgque.set_queue_config('q', 'payload_bytes_max', '100')");
    await expect(a.query(`select pgque.schedule(${args})`)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  test.each([
    ["schedule not found: 'nobody'", "nobody", "0"],
    ["expected run_at to be at most 1 day ago", "s", "24 hours 1 minute"],
    ["expected run_at to have come", "s", "-2 minutes"],
  ])("%s", async (message, name, ago) => {
    await schedule(a);
    await expect(run(a, await timeAgo(a, ago), name)).rejects.toMatchObject({
      code: "PQ004",
      message: expect.stringContaining(message),
      hint: expect.any(String),
    });
  });

  test.each(["2026-01-01T00:00:00.5Z", "infinity", "-infinity", null, "290000-01-01"])("run_at %s", async (at) => {
    await schedule(a);
    await expect(run(a, at as string)).rejects.toMatchObject({ code: "PQ004", hint: expect.any(String) });
  });
});
