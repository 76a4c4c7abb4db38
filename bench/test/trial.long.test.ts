import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { none } from "#src/horizons/none";
import { repeatableRead } from "#src/horizons/repeatable-read";
import { figures, evidenceOf, invalidity } from "#src/scenarios/xmin/results";
import { measureXmin } from "#src/scenarios/xmin/trial";
import { openServer, type Server } from "#src/runner/server";
import { resolveSettings, type Settings } from "#src/scenarios/xmin/settings";
import { pgque } from "#src/adapters/pgque";
import { skipLocked } from "#src/adapters/skip-locked";
import type { Send, System } from "#src/adapters/adapter";

let server: Server;
let settings: Settings;
beforeAll(async () => {
  settings = { ...resolveSettings({ quick: true, durationSeconds: 1 }), bystanderRows: 1000 };
  server = await openServer(settings, 17);
});
afterAll(() => server.close());

const hooks = { onPhase() {}, onSample() {} };
const never = new AbortController().signal;

test("under a held horizon skip-locked leaves its dead tuples, two for each message, and pgque none", async () => {
  const theirs = figures(await measureXmin(server, skipLocked, repeatableRead, settings, hooks, never));
  const ours = figures(await measureXmin(server, pgque, repeatableRead, settings, hooks, never));
  expect(theirs.deadTuples).toBeGreaterThanOrEqual(2 * (theirs.details?.dequeued ?? Infinity));
  expect(ours.deadTuples).toBe(0);
  expect(ours.details).toMatchObject({ tuplesUpdated: 0, tuplesDeleted: 0, deadTuplesFrom: "pgstattuple" });
  expect(Object.keys(ours.deadTuplesByRelation ?? {})).toEqual(expect.arrayContaining(["queue", "message_1_0"]));
});

test("a paced trial goes no faster than its rate and measures from the intended time", async () => {
  const paced = { ...settings, ...pacing(200) };
  const measured = await measureXmin(server, pgque, none, paced, hooks, never);
  const { enqueuedPerSecond, dequeuedPerSecond, drainSeconds, latencyMs } = figures(measured);
  // as fast as it goes would be thousands; how far a busy machine falls short of the rate is not this test's concern
  for (const rate of [enqueuedPerSecond, dequeuedPerSecond]) {
    expect(rate).toBeGreaterThan(0);
    expect(rate).toBeLessThan(300);
  }
  expect(drainSeconds).not.toBeNull();
  expect(latencyMs?.p50).toBeGreaterThan(0);
  // Of the first sample of a phase there were no reads yet; the last one may follow at once on the one before.
  const [first, ...later] = measured.held.samples.map(({ bystanderP99Ms }) => bystanderP99Ms);
  expect(first).toBeNull();
  expect(later).toContainEqual(expect.any(Number));
});

test("a system that finishes more than was sent makes the trial invalid", async () => {
  const boasting: System = {
    ...skipLocked,
    async open(workload) {
      const { tally } = workload;
      const honest = tally.finished.bind(tally);
      tally.finished = (messages) => honest(messages * 2);
      return skipLocked.open(workload);
    },
  };
  const measured = await measureXmin(server, boasting, none, { ...settings, ...pacing(200) }, hooks, never);
  expect(invalidity(evidenceOf(measured, settings))).toMatch(/^invalid: \d+ messages finished, but only \d+ sent$/);
});

test("a system that hands out a message twice makes the trial invalid, though it counts right", async () => {
  const repeating: System = {
    ...skipLocked,
    async open(workload) {
      const { tally } = workload;
      const once = tally.received.bind(tally);
      tally.received = (dueMs) => {
        once(dueMs);
        once(dueMs);
      };
      return skipLocked.open(workload);
    },
  };
  const measured = await measureXmin(server, repeating, none, { ...settings, ...pacing(200) }, hooks, never);
  expect(invalidity(evidenceOf(measured, settings))).toMatch(
    /^invalid: \d+ messages were sent, but \d+ received: some came twice$/,
  );
});

test("what was due and could not be sent in time is counted, and its wait is in the latency", async () => {
  const slow: System = {
    ...skipLocked,
    async open(workload) {
      const running = await skipLocked.open(workload);
      const send = running.send.map((one): Send => async (payloads) => {
        await sleep(400);
        return one(payloads);
      });
      return { ...running, send };
    },
  };
  const measured = await measureXmin(server, slow, none, { ...settings, ...pacing(200) }, hooks, never);
  const { details, latencyMs } = figures(measured);
  // 200 are due, and each producer comes to three at most
  expect(details?.unsent).toBeGreaterThan(150);
  expect(latencyMs?.p50).toBeGreaterThan(100);
});

test("a system whose consumer fails fails the trial with its reason, and leaves no database behind", async () => {
  const failing: System = {
    ...skipLocked,
    async open(workload) {
      const running = await skipLocked.open(workload);
      return { ...running, maintain: () => Promise.reject(new Error("out of order")) };
    },
  };
  const twoSeconds = { ...settings, heldSeconds: 2 };
  await expect(measureXmin(server, failing, none, twoSeconds, hooks, never)).rejects.toThrow("out of order");
  const client = await server.connect("postgres", "test");
  const { rows } = await client.query("select datname from pg_database where datname like 'pgque_bench_%'");
  await client.end();
  expect(rows).toEqual([]);
});

test("a paced trial whose harness was late is invalid", () => {
  const evidence = { enqueued: 10, dequeued: 10, transactionIds: 5, paced: true, lateMsP99: 80, mismatch: null };
  expect(invalidity(evidence)).toContain("the harness was 80 ms late");
  expect(invalidity({ ...evidence, lateMsP99: 3 })).toBeNull();
  expect(invalidity({ ...evidence, lateMsP99: 3, transactionIds: 0 })).toContain("no transaction");
  expect(invalidity({ ...evidence, lateMsP99: 3, transactionIds: null })).toBeNull();
  expect(invalidity({ ...evidence, lateMsP99: 3, mismatch: "1 of 10 messages were lost" })).toBe(
    "invalid: 1 of 10 messages were lost",
  );
});

function pacing(rate: number): Pick<Settings, "mode" | "rate" | "sendBatch"> {
  return { mode: "paced", rate, sendBatch: 1 };
}
