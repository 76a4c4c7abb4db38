import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../test/support/database.ts";
import { until } from "../../test/support/until.ts";
import { holdAdvancing, type AdvancingHolder, FeedbackAges, nextIntervalMs } from "#src/horizons/advancing-feedback";
import { nothingIsLeft, siteOn, vacuumedAway, type Site } from "./support/site.ts";

let server: OwnServer;
let site: Site;
beforeAll(async () => {
  server = await ownServer();
});
beforeEach(async () => {
  site = await siteOn(server);
});
// a failed test must not hold anything back from the next one
afterEach(() => site.close());
afterAll(() => server.drop());

/** Uses transactions until it has moved on so often. */
async function moved(holder: AdvancingHolder, moves: number): Promise<void> {
  await until(async () => {
    await site.useTransactions(1);
    try {
      return holder.prove().moves >= moves;
    } catch {
      return false;
    }
  }, `the horizon has moved on ${moves} times`);
}

test("what dies while it holds survives VACUUM until it has moved on, and it goes on to hold what dies then", async () => {
  const holder = await holdAdvancing(site, 3_600_000);
  await site.makeDeadTuple();
  expect(await site.deadTuples()).toBe(1);
  expect(() => holder.prove()).toThrow("the horizon never moved on while it was looked at");
  await holder.release();
  await vacuumedAway(site);
  await nothingIsLeft(site.admin);

  const moving = await holdAdvancing(site, 300);
  await site.makeDeadTuple();
  await moved(moving, 3);
  await vacuumedAway(site);
  await moving.release();
  await nothingIsLeft(site.admin);
});

test("dynamic moves on while transactions are used", async () => {
  const holder = await holdAdvancing(site, "dynamic");
  await moved(holder, 3);
  await holder.release();
  await nothingIsLeft(site.admin);
});

test("a holder whose session is ended is found out", async () => {
  const holder = await holdAdvancing(site, 300);
  await moved(holder, 1);
  await site.killOthers();
  await until(async () => {
    await site.useTransactions(1);
    try {
      holder.prove();
      return false;
    } catch {
      return true;
    }
  }, "it is found out");
  expect(() => holder.prove()).toThrow(/did not move on as it should/);
  await holder.release();
  await nothingIsLeft(site.admin);
});

const look = (xmin: number, identity = "1") => ({ identity, xmin: String(xmin), age: 5 });

test("its age is the time since its xmin was last the oldest open transaction", () => {
  const ages = new FeedbackAges(100);
  ages.reported(10n, 0);
  ages.seen(look(10), 90);
  ages.reported(20n, 100);
  ages.seen(look(10), 105);
  ages.seen(look(20), 130);
  expect(ages.prove()).toMatchObject({ moves: 1, ageMsP50: expect.closeTo(90, 0), ageMsMax: expect.closeTo(105, 0) });
});

test.each<[string, (ages: FeedbackAges) => void, string]>([
  ["never moved", (ages) => ages.seen(look(10), 90), "never moved on"],
  [
    "was too old",
    (ages) => [ages.seen(look(10), 900), ages.seen(look(20), 900)],
    "at most 150 ms old half of the time",
  ],
  ["was too young", (ages) => [ages.seen(look(10), 1), ages.seen(look(20), 101)], "to be 50 ms old at some time"],
])("a horizon that %s is no figure", (_name, see, expected) => {
  const ages = new FeedbackAges(100);
  ages.reported(10n, 0);
  ages.reported(20n, 100);
  see(ages);
  expect(() => ages.prove()).toThrow(expected);
});

test("a slot that has what was not reported, or another process behind it, is found out", () => {
  const ages = new FeedbackAges(100);
  ages.reported(10n, 0);
  ages.seen(look(10), 1);
  expect(() => ages.seen(look(11), 2)).toThrow("the slot has xmin 11, which was not reported");
  expect(() => ages.seen(look(10, "2"), 2)).toThrow("the slot was let go and taken anew");
  expect(() => ages.seen(undefined, 2)).toThrow("the slot is gone, or holds nothing");
});

test("dynamic doubles while nothing happens, up to its maximum, and begins anew when something does", () => {
  const idle = Array.from({ length: 13 }).reduce<number[]>(
    (steps) => [...steps, nextIntervalMs("dynamic", steps.at(-1) ?? 0, true)],
    [100],
  );
  expect(idle.slice(0, 4)).toEqual([100, 200, 400, 800]);
  expect(idle.at(-1)).toBe(180_000);
  expect(nextIntervalMs("dynamic", 180_000, false)).toBe(100);
  expect(nextIntervalMs(1000, 1000, true)).toBe(1000);
});
