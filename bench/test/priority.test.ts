import { expect, test } from "vitest";
import { freshDatabase } from "../../test/support/database.ts";
import { named, pickers } from "#src/adapters/registry";
import { BenchOptionError } from "#src/runner/options";
import { outOfOrder, resolvePrioritySettings, type PriorityOptions } from "#src/scenarios/priority";

const of = (...priorities: number[]): { priority: number }[] => priorities.map((priority) => ({ priority }));

test.each([
  ["in order", of(9, 9, 5, 5, 0), 1, 0],
  ["one that another worker has in hand", of(9, 5, 9, 5, 0), 2, 0],
  ["more than the others could have in hand", of(9, 5, 9, 9, 0), 2, 1],
  ["the wrong way round", of(0, 1, 2, 3, 4), 1, 4],
])("jobs out of order are counted: %s", (_name, done, workers, expected) => {
  expect(outOfOrder(done, workers)).toBe(expected);
});

test.each<[PriorityOptions, string]>([
  [{ jobs: 0 }, "expected `jobs` to be an integer from 1 to 10000000, got: 0"],
  [
    { systems: ["kafka"] },
    "expected `systems` to be some of pgque, pgque-batch, skip-locked, advisory-lock, update-async, update-sync, got: kafka",
  ],
])("priority, %j is refused in words", (options, message) => {
  expect(() => resolvePrioritySettings(options)).toThrow(BenchOptionError);
  expect(() => resolvePrioritySettings(options)).toThrow(message);
});

test.each(["skip-locked", "advisory-lock"])("%s picks by priority and then by time, whatever the ids", async (name) => {
  await using database = await freshDatabase();
  const connect = async () => {
    const client = await database.connect();
    await client.query("set search_path = public");
    return client;
  };
  const site = { admin: await connect(), connect };
  const picker = named(pickers, name);
  const jobs = ["late", "early", "low"].map((payload) => ({ priority: payload === "low" ? 1 : 2, payload }));
  await picker.prepare(site, jobs);
  await site.admin.query("update job set added_on = added_on - interval '1 hour' where payload <> 'late'");
  const picked: string[] = [];
  const next = await picker.worker(site, (payload) => picked.push(payload));
  while (await next());
  expect(picked).toEqual(["early", "late", "low"]);
});
