import { afterAll, beforeAll, expect, test } from "vitest";
import { ownServer } from "../../test/support/database.ts";
import { horizonNames, horizonNamed, serverSettingsFor } from "#src/horizons/registry";
import { figures } from "#src/scenarios/xmin/results";
import { measureXmin } from "#src/scenarios/xmin/trial";
import { openServer, type Server } from "#src/runner/server";
import { resolveSettings, type Settings } from "#src/scenarios/xmin/settings";
import { pgque } from "#src/adapters/pgque";
import { skipLocked } from "#src/adapters/skip-locked";
import { leftovers, siteOn, vacuumedAway } from "./support/site.ts";

const runnable = horizonNames.filter((name) => name !== "retain-dead-tuples");
/** Those that hold back the vacuum of tables. */
const holding = runnable.filter((name) => !["none", "logical-slot", "lagging-consumer"].includes(name));
/** Its queries are as short as the trial. */
const held = holding.filter((name) => name !== "analytics");
const hooks = { onPhase() {}, onSample() {} };
const never = new AbortController().signal;

let server: Server;
let settings: Settings;
beforeAll(async () => {
  settings = { ...resolveSettings({ quick: true, durationSeconds: 1 }), bystanderRows: 1000 };
  server = await openServer(settings, 17, serverSettingsFor(horizonNames));
});
afterAll(() => server.close());

const trial = (system: typeof pgque, horizon: string): ReturnType<typeof measureXmin> =>
  measureXmin(server, system, horizonNamed(horizon), settings, hooks, never);

test.each(runnable)(
  "a trial of pgque under %s has its figures and no dead tuple, and leaves nothing behind",
  async (name) => {
    const { deadTuples, details } = figures(await trial(pgque, name));
    expect(deadTuples).toBe(0);
    expect(details).toMatchObject({ horizon: { xminAge: expect.any(Number) } });
    const admin = await server.connect("postgres", "test");
    expect(await leftovers(admin)).toMatchObject({ slots: 0, prepared: 0 });
    await admin.end();
  },
);

test.each(held)("a trial of skip-locked under %s has two dead tuples for each message", async (name) => {
  const { deadTuples, details } = figures(await trial(skipLocked, name));
  expect(deadTuples).toBeGreaterThanOrEqual(2 * (details?.dequeued ?? Infinity));
});

test("a trial that fails while its horizon is held lets go and says why", async () => {
  const failing: typeof pgque = {
    ...pgque,
    async open(workload) {
      const running = await pgque.open(workload);
      return { ...running, maintain: () => Promise.reject(new Error("out of order")) };
    },
  };
  const seconds = { ...settings, cleanSeconds: 0, heldSeconds: 3 };
  const run = measureXmin(server, failing, horizonNamed("prepared"), seconds, hooks, never);
  await expect(run).rejects.toThrow("out of order");
  const admin = await server.connect("postgres", "test");
  expect(await leftovers(admin)).toMatchObject({ slots: 0, prepared: 0 });
  await admin.end();
});

test.each([14, 15, 16, 18] as const)("on PostgreSQL %d every one of them holds, and lets go", async (major) => {
  await using own = await ownServer({ major });
  const site = await siteOn(own);
  for (const name of holding) {
    const holder = await horizonNamed(name).hold(site);
    await site.makeDeadTuple();
    expect([name, await site.deadTuples()]).toEqual([name, 1]);
    await holder.prove();
    await holder.release();
    await vacuumedAway(site);
  }
  const slot = await horizonNamed("logical-slot").hold(site);
  await site.makeDeadTuple();
  await vacuumedAway(site);
  await slot.prove();
  await slot.release();
});
