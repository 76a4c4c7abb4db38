import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

const value = async (call: string, values: unknown[]): Promise<unknown> =>
  (await a.query(`select pgque.${call} as value`, values)).rows[0].value;
const create = (name: string, options: unknown = {}): Promise<unknown> =>
  value("create_queue($1, $2)", [name, options]);
const change = (options: unknown, queue = "q"): Promise<unknown> => value("change_queue($1, $2)", [queue, options]);
const changeConsumer = (options: unknown, consumer = "c"): Promise<unknown> =>
  value("change_consumer('q', $1, $2)", [consumer, options]);
const settings = async (queue = "q"): Promise<Record<string, unknown>> =>
  (await a.query("select settings from pgque.queue_settings($1)", [queue])).rows[0].settings;
const consumerSettings = async (consumer = "c"): Promise<Record<string, unknown>> =>
  (await a.query("select settings from pgque.consumer_settings('q') where consumer = $1", [consumer])).rows[0].settings;

const defaults = {
  max_retries: 5,
  max_crashes: 3,
  rotation_bytes: 67108864,
  rotation_period: "00:10:00",
  rotation_min_interval: "00:00:30",
  retention: "00:00:00",
  max_lag: null,
  max_lag_action: "warn",
  payload_bytes_max: 1_000_000_000,
  notify: true,
  partitions: null,
  priorities: null,
  low_priority_every: null,
  allow_expiry: false,
  allow_cancel: false,
};
const others = {
  max_retries: 0,
  max_crashes: 1,
  rotation_bytes: 8192,
  rotation_period: "1 mon 2 days 03:04:05.678",
  rotation_min_interval: "00:00:00",
  retention: "10 years",
  max_lag: "1 day",
  max_lag_action: "drop",
  payload_bytes_max: 3,
  notify: false,
  partitions: null,
  priorities: 7,
  low_priority_every: 9,
  allow_expiry: true,
  allow_cancel: true,
};

describe("the settings of a queue", () => {
  test("are read in the words of create_queue, which makes another like it", async () => {
    await create("q");
    expect(await settings()).toEqual(defaults);
    await create("Zürich 😀", others);
    expect(await settings("Zürich 😀")).toEqual(others);
    for (const [name, like] of [
      ["like q", defaults],
      ["like Zürich", others],
    ] as const) {
      await create(name, like);
      expect(await settings(name)).toEqual(like);
      expect(await change(like, name)).toBe(0);
    }
    await a.query("select pgque.pause('q')");
    const { rows } = await a.query("select queue_name, paused, created_at from pgque.queue_settings()");
    expect(rows).toHaveLength(4);
    for (const row of rows) expect(row).toMatchObject({ paused: row.queue_name === "q", created_at: expect.any(Date) });
  });

  test("are the same whatever interval style the session has", async () => {
    await create("q", others);
    await a.query("set intervalstyle = 'iso_8601'");
    expect(await settings()).toEqual(others);
  });

  test("change together, 1, or are like that, 0; what is not named stays", async () => {
    await create("q");
    const later = { max_retries: 7, max_lag: 90, retention: "2 hours", notify: false, payload_bytes_max: 3 };
    expect(await change(later)).toBe(1);
    expect(await change(later)).toBe(0);
    expect(await settings()).toEqual({ ...defaults, ...later, max_lag: "00:01:30", retention: "02:00:00" });
    await expect(send(a, "four")).rejects.toMatchObject({ code: "PQ004" });
    expect(await change({ max_lag: null })).toBe(1);
    expect(await change({ max_lag: null, partitions: null, priorities: null, low_priority_every: null })).toBe(0);
    expect(await change({})).toBe(0);
    expect((await settings())["max_lag"]).toBeNull();
  });

  test("what changes nothing writes nothing", async () => {
    await create("q");
    await a.query("begin");
    expect(await change({ max_retries: 5, rotation_period: "10 minutes", notify: "true" })).toBe(0);
    expect((await a.query("select pg_current_xact_id_if_assigned() as xid")).rows).toEqual([{ xid: null }]);
    await a.query("commit");
  });

  test("lanes are added with the other options, or nothing is", async () => {
    await create("q", { partitions: 2 });
    await a.query("select pgque.subscribe('q', 'c')");
    await a.query(`select pgque.send('q', 't', 'x', '{"key": "k"}')`);
    await expect(change({ partitions: 3, max_retries: 1 })).rejects.toMatchObject({
      message: "queue 'q' is not drained",
    });
    expect(await settings()).toMatchObject({ partitions: 2, max_retries: 5 });
    await a.query("select pgque.ack(batch_id) from pgque.receive_messages('q', 'c')");
    expect(await change({ partitions: 3, max_retries: 1 })).toBe(1);
    expect(await settings()).toMatchObject({ partitions: 3, max_retries: 1 });
  });

  test("of two that change them at once, the second finds what the first has made of them", async () => {
    await create("q");
    const [b, observer] = [await database.connect(), await database.connect()];
    await a.query("begin");
    expect(await change({ max_retries: 1 })).toBe(1);
    const second = await blocked<{ n: number }>(observer, b, "select pgque.change_queue('q', $1) as n", [
      { max_retries: 1 },
    ]);
    await a.query("commit");
    expect((await second.result).rows).toEqual([{ n: 0 }]);
  });
});

describe("everything that is wrong is said at once, and nothing has changed", () => {
  const wrong = {
    colour: "red",
    größe: 1,
    max_retries: 1.5,
    rotation_bytes: "9223372036854775808",
    rotation_period: 0,
    retention: "11 years",
    max_lag_action: "explode",
    notify: "maybe",
    payload_bytes_max: [1],
    priorities: "1e1",
    allow_expiry: {},
  };
  const problems = [
    "unknown option of a queue: 'colour'",
    "unknown option of a queue: 'größe'",
    "expected allow_expiry to be true or false, got: {}",
    'expected max_lag_action to be warn or drop, got: "explode"',
    "expected max_retries to be an integer from 0 to 32000, got: 1.5",
    'expected notify to be true or false, got: "maybe"',
    "expected payload_bytes_max to be an integer from 1 to 1000000000, got: [1]",
    'expected priorities to be an integer from 1 to 1024, or null, got: "1e1"',
    'expected retention to be from 0 to 10 years, got: "11 years"',
    'expected rotation_bytes to be an integer from 8192 to 9223372036854775807, got: "9223372036854775808"',
    "expected rotation_period to be longer than 0 and at most 100 years, got: 0",
  ];

  test("by create_queue", async () => {
    await expect(create("q", { ...wrong, partitions: 2, low_priority_every: 3 })).rejects.toMatchObject({
      code: "PQ004",
      message: [...problems, "expected partitions or priorities, got both"].join("; "),
      hint: expect.stringContaining("Known options: max_retries, max_crashes, rotation_bytes,"),
    });
    expect((await a.query("select from pgque.queue_settings()")).rowCount).toBe(0);
  });

  test("by change_queue, with what does not become of this queue", async () => {
    await create("q", { allow_expiry: true });
    const { allow_expiry: _, ...others } = wrong;
    await expect(
      change({
        ...others,
        partitions: 2,
        allow_expiry: false,
        allow_cancel: true,
        low_priority_every: 3,
        max_lag: "1 hour",
      }),
    ).rejects.toMatchObject({
      code: "PQ004",
      message: [
        ...problems.filter((problem) => !/expiry/.test(problem)),
        "queue 'q' was created without partitions",
        "queue 'q' has no priorities, for low_priority_every",
        "allow_expiry of queue 'q' cannot be switched off",
        "queue 'q' was created without allow_cancel",
      ].join("; "),
    });
    expect(await settings()).toEqual({ ...defaults, allow_expiry: true });
  });

  test("by change_consumer and subscribe", async () => {
    await makeQueue(a);
    const bad = { colour: 1, on_failure: "skip", max_in_flight: 0, rate_limit: 86_400_001, rate_period: "1 ms" };
    const of = (what: string): string =>
      [
        `unknown option of ${what}: 'colour'`,
        "expected max_in_flight to be an integer from 1 to 2147483647, or null, got: 0",
        'expected on_failure for a consumer with mode "ordered" alone',
        "expected rate_limit to be a message a microsecond at most, got: 86400001 in 00:00:00.001",
      ].join("; ");
    await expect(changeConsumer(bad)).rejects.toMatchObject({ code: "PQ004", message: of("a consumer") });
    await expect(a.query("select pgque.subscribe('q', 'new', $1)", [bad])).rejects.toMatchObject({
      message: of("subscribe"),
    });
    await expect(changeConsumer({ mode: "ordered", rate_period: "2 days" })).rejects.toMatchObject({
      message:
        "expected rate_period to be longer than 0 and at most 1 day, got: \"2 days\"; mode of consumer 'c' cannot be changed",
    });
    expect(await consumerSettings()).toEqual({
      mode: "shared",
      max_in_flight: null,
      rate_limit: null,
      rate_period: "00:00:01",
    });
  });

  test.each([
    ["change_queue('nowhere', '{}')", "PQ001", "queue not found: nowhere"],
    ["change_queue(null, '{}')", "PQ001", "queue not found: NULL"],
    ["change_queue('q', null)", "PQ004", "expected the options of a queue to be a JSON object, got: NULL"],
    ["change_queue('q', '[]')", "PQ004", "got: []"],
    ["change_queue('q', '1')", "PQ004", "got: 1"],
    [
      "change_queue('q', '{\"max_retries\": null}')",
      "PQ004",
      "expected max_retries to be an integer from 0 to 32000, got: null",
    ],
    [
      "change_queue('q', '{\"partitions\": 0}')",
      "PQ004",
      "expected partitions to be an integer from 1 to 1024, or null, got: 0",
    ],
    [
      "change_queue('q', jsonb_build_object('notify', repeat('é', 1000000)))",
      "PQ004",
      "expected notify to be true or false",
    ],
    ["change_queue('q', jsonb_build_object(repeat('é', 1000000), 1))", "PQ004", "unknown option of a queue: 'éé"],
    ["set_queue_config('q', null, '1')", "PQ004", "unknown option of a queue: 'NULL'"],
    ["create_queue('x', '1')", "PQ004", "expected the options of a queue to be a JSON object, got: 1"],
    ["create_queue('x', null)", "PQ004", "got: NULL"],
    ["queue_settings('nowhere')", "PQ001", "queue not found: nowhere"],
    ["change_consumer('nowhere', 'c', '{}')", "PQ001", "queue not found: nowhere"],
    ["change_consumer('q', 'nobody', '{}')", "PQ002", "consumer not registered: nobody"],
    ["change_consumer('q', null, '{}')", "PQ002", "consumer not registered: NULL"],
    ["change_consumer('q', 'c', null)", "PQ004", "expected the options of a consumer to be a JSON object, got: NULL"],
    ["change_consumer('q', 'c', '\"x\"')", "PQ004", 'got: "x"'],
    ["change_consumer('q', 'c', '{\"rate_period\": null}')", "PQ004", "got: null"],
    ["subscribe('q', 'x', '1')", "PQ004", "expected the options of subscribe to be a JSON object, got: 1"],
    ["subscribe('q', 'x', '{\"from\": 1}')", "PQ004", "expected from to be a string, or null, got: 1"],
    ["consumer_settings('nowhere')", "PQ001", "queue not found: nowhere"],
  ])("%s", async (call, code, message) => {
    await makeQueue(a);
    const error = await a.query(`select * from pgque.${call}`).catch((refused: Error) => refused);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    expect((error as Error).message.length).toBeLessThan(400);
  });
});

describe("the settings of a consumer", () => {
  test("are read in the words of subscribe, which makes another like it", async () => {
    await create("q", { partitions: 16 });
    await a.query("select pgque.subscribe('q', 'c')");
    expect(await consumerSettings()).toEqual({
      mode: "exclusive",
      max_in_flight: null,
      rate_limit: null,
      rate_period: "00:00:01",
    });
    const all = { mode: "ordered", on_failure: "skip", max_in_flight: 3, rate_limit: 10, rate_period: "00:01:00" };
    for (const name of ["größe", "like größe"]) {
      await a.query("select pgque.subscribe('q', $1, $2)", [
        name,
        name === "größe" ? all : await consumerSettings("größe"),
      ]);
      expect(await consumerSettings(name)).toEqual(all);
      expect(await changeConsumer(all, name)).toBe(0);
    }
    await a.query("select pgque.pause('q', 'c')");
    const { rows } = await a.query("select queue_name, consumer, paused, created_at from pgque.consumer_settings()");
    expect(rows.map(({ consumer, paused }) => [consumer, paused])).toEqual([
      ["c", true],
      ["größe", false],
      ["like größe", false],
    ]);
  });

  test("change together, 1, or are like that, 0, and count from the next receive on", async () => {
    await makeQueue(a);
    await send(a, "1", "2", "3");
    expect(await changeConsumer({ max_in_flight: 2, rate_period: 60 })).toBe(1);
    expect(await changeConsumer({ max_in_flight: 2, rate_period: "1 minute" })).toBe(0);
    expect((await receive(a)).payloads).toEqual(["1", "2"]);
    expect((await receive(a)).payloads).toEqual([]);
    expect(await changeConsumer({ max_in_flight: null })).toBe(1);
    expect(await changeConsumer({ max_in_flight: null, rate_limit: null })).toBe(0);
    expect((await receive(a)).payloads).toEqual(["3"]);
    expect(await consumerSettings()).toMatchObject({ max_in_flight: null, rate_period: "00:01:00" });
  });
});
