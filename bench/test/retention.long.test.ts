import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Run } from "#src/runner/run";
import type { RetentionOptions } from "#src/scenarios/retention/measure";
import { runRetention, type RetentionResults } from "#src/scenarios/retention/retention";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test retention "));
});
afterAll(() => rm(folder, { recursive: true }));

const tiny: RetentionOptions = { quick: true, durationSeconds: 3, rate: 50, tpcbClients: 2 };

/** A machine that is too busy to send, or to move the slot on, in time makes a trial invalid, as it should. */
async function runUndisturbed(options: RetentionOptions): Promise<Run<RetentionResults>> {
  for (let tries = 1; ; tries += 1) {
    const run = await runRetention({ ...tiny, ...options, resultsFolder: folder });
    if (tries === 5 || !run.results.trials.some(({ error }) => error?.includes("too little CPU left"))) return run;
  }
}

test("the load and a queue run beside each other while a slot moves on", { timeout: 600_000 }, async () => {
  const intervals = ["none", "1000", "dynamic", "2000"];
  const { results, report, failed } = await runUndisturbed({ systems: ["pgque"], intervals });
  expect(results.trials.map(({ error }) => error)).toEqual([null, null, null, null]);
  expect(failed).toBe(false);
  for (const { interval, figures } of results.trials) {
    const transactions = figures?.transactions ?? Number.NaN;
    expect(transactions).toBeGreaterThan(0);
    // three seconds were asked for, an interval needs two and a half times its length
    const seconds = transactions / (figures?.transactionsPerSecond ?? Number.NaN);
    expect(seconds).toBeGreaterThanOrEqual(interval === "2000" ? 5 : 3);
    for (const table of Object.values(figures?.tables ?? {})) expect(table.updates).toBe(transactions);
    expect(figures?.tables.accounts.heapFetches).toBeGreaterThanOrEqual(2 * transactions);
    expect(figures?.queue.finishedPerSecond).toBeGreaterThan(0);
    expect(figures?.queue.latencyMs?.p50).toBeGreaterThan(0);
    expect(figures?.queue.deadTuples).toBe(0);
    if (interval === "none") expect(figures?.slot).toBeNull();
    else expect(figures?.slot?.moves).toBeGreaterThan(0);
  }
  const text = await readFile(path.join(folder, "report.md"), "utf8");
  expect(text).toMatch(/^\| pgque \| 1 s \| [\d,]+ \| [\d.]+ \| 0\.95 \|/m);
  expect(text).toContain("Not pgbench: the load is a Node client");
  expect(await readFile(path.join(folder, "report.html"), "utf8")).toContain("Hayato Kuroda");
  expect(report()).toMatch(/^pgque +dynamic .* > 0\.99 /m);
  expect(report()).toContain("Hayato Kuroda");
});

test("a run that is stopped keeps what it has and ends", { timeout: 600_000 }, async () => {
  const stop = new AbortController();
  const progress = {
    begin() {},
    stepStarted() {},
    note(text: string) {
      if (text === "load") stop.abort();
    },
    stepDone() {},
    end() {},
  };
  const options = { ...tiny, durationSeconds: 3600, intervals: ["1000"], resultsFolder: folder };
  const { results } = await runRetention(options, { signal: stop.signal, progress });
  expect(results).toMatchObject({ interrupted: true, trials: [] });
});
