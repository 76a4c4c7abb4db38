import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

let database: TestDatabase;
let a: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

async function differences(options: unknown, consumer?: string): Promise<Record<string, unknown>> {
  const { rows } = await a.query(`select "option", found from pgque.option_differences('q', $1, $2)`, [
    JSON.stringify(options),
    consumer,
  ]);
  return Object.fromEntries(rows.map(({ option, found }) => [option, found]));
}

describe("the settings of a queue that differ", () => {
  test("are those that were named and have another value, and no others", async () => {
    await a.query("select pgque.create_queue('q', $1)", [{ max_retries: 7, notify: false, partitions: 16 }]);
    expect(await differences({})).toEqual({});
    expect(await differences({ max_retries: 7, notify: false, partitions: 16, max_crashes: 3 })).toEqual({});
    expect(await differences({ max_retries: 8, notify: true, partitions: 8, max_crashes: 3 })).toEqual({
      max_retries: 7,
      notify: false,
      partitions: 16,
    });
  });

  test("are compared by value: texts, numbers and intervals of any form are the same", async () => {
    await a.query("select pgque.create_queue('q', $1)", [
      { retention: "1 day", rotation_period: 90, max_lag: "1.5 s" },
    ]);
    const same = { retention: "24:00:00", rotation_period: "90000 milliseconds", max_lag: 1.5, max_retries: "5" };
    expect(await differences({ ...same, notify: "on" })).toEqual({});
    expect(await differences({ retention: 60, rotation_period: "1 min", max_lag: "2 s", notify: "off" })).toEqual({
      retention: 86400,
      rotation_period: 90,
      max_lag: 1.5,
      notify: true,
    });
  });

  test("say null for what the queue has not, and nothing of an option that is null", async () => {
    await a.query("select pgque.create_queue('q')");
    expect(await differences({ max_lag: "1 h", partitions: 16 })).toEqual({ max_lag: null, partitions: null });
    expect(await differences({ max_retries: null, max_lag: null })).toEqual({});
  });
});

test("the settings of a consumer that differ are found by its name", async () => {
  await a.query("select pgque.create_queue('q', '{\"partitions\": 16}')");
  await a.query("select pgque.subscribe('q', 'c', $1)", [{ mode: "ordered", on_failure: "skip", rate_limit: 5 }]);
  expect(
    await differences({ mode: "ordered", on_failure: "skip", rate_limit: 5, rate_period: "1000 ms" }, "c"),
  ).toEqual({});
  expect(await differences({ mode: "shared", on_failure: "block", rate_limit: 6, max_in_flight: 1 }, "c")).toEqual({
    mode: "ordered",
    on_failure: "skip",
    rate_limit: 5,
    max_in_flight: null,
  });
});

test("what cannot be asked is refused, all at once", async () => {
  await a.query("select pgque.create_queue('q'), pgque.subscribe('q', 'c')");
  await expect(differences({ max_retries: -1, maxCrashes: 1 })).rejects.toMatchObject({
    code: "PQ004",
    message: expect.stringMatching(/unknown option of option_differences: 'maxCrashes'.*; expected max_retries to be/),
  });
  await expect(differences({ max_retries: 1 }, "c")).rejects.toMatchObject({ code: "PQ004" });
  await expect(differences({ rate_limit: 1 }, "nobody")).rejects.toMatchObject({ code: "PQ002" });
  await expect(a.query("select pgque.option_differences('none', '{}')")).rejects.toMatchObject({ code: "PQ001" });
});
