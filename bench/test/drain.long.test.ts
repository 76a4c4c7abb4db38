import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drain, drainPlan, resolveDrainSettings, runDrain, type DrainResults } from "#src/scenarios/drain/drain";
import type { DrainFigures } from "#src/scenarios/drain/measure";
import { growthOf, theilSen } from "#src/measure/statistics";
import { markdown as reportMarkdown } from "#src/report/markdown";
import { handledWrongly, numbered, Seen } from "#src/load/messages";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test drain "));
});
afterAll(() => rm(folder, { recursive: true }));

test(
  "processes of every system drain a queue, each message handled once, and their CPU and memory are beside the rate",
  { timeout: 240_000 },
  async () => {
    const systems = ["pgque", "graphile-worker", "pg-boss"];
    const { results } = await runDrain({ quick: true, messages: 2000, processes: [2], systems, resultsFolder: folder });

    expect(results.trials.map(({ system, error, skipped }) => ({ system, error, skipped }))).toEqual(
      systems.map((system) => ({ system, error: null, skipped: null })),
    );
    for (const { figures } of results.trials) {
      expect(figures?.messagesPerSecond).toBeGreaterThan(0);
      expect(figures?.clientCpuSecondsPerThousand).toBeGreaterThan(0);
      expect(figures?.rssBytesMax).toBeGreaterThan(2 ** 20);
      expect(figures?.walBytesPerMessage).toBeGreaterThan(0);
      expect(figures?.growth).toBeNull();
    }
    expect(JSON.parse(await readFile(path.join(folder, "results.json"), "utf8"))).toEqual(results);
    expect(await readFile(path.join(folder, "report.md"), "utf8")).toContain("pgque / graphile-worker");
  },
);

test(
  "what is not sent before the start follows while the queue is drained, and the worker's memory is sampled",
  { timeout: 240_000 },
  async () => {
    const { results } = await runDrain({
      quick: true,
      messages: 45_000,
      ahead: 12_000,
      memory: true,
      processes: [1],
      systems: ["pgque"],
      resultsFolder: folder,
    });
    expect(results.trials.map(({ error }) => error)).toEqual([null]);
    expect(results.trials[0]?.figures?.growth?.verdict).toEqual(expect.any(String));
  },
);

test("a message that was not handled, or was handled twice, in one process or in two, is found", () => {
  const seen = (...numbers: number[]): Seen => {
    const one = new Seen(10);
    for (const n of numbers) one.add({ n });
    return one;
  };
  expect(numbered(3, 2)).toEqual([{ n: 3 }, { n: 4 }]);
  expect(handledWrongly(10, [seen(0, 2, 4, 6, 8), seen(1, 3, 5, 7, 9)])).toBeNull();
  expect(handledWrongly(10, [seen(0, 2, 4, 6, 8), seen(1, 3, 5, 7)])).toContain("1 were not, 0 times");
  expect(handledWrongly(10, [seen(0, 2, 4, 6, 8), seen(1, 3, 5, 7, 9, 2)])).toContain("0 were not, 1 times");
  expect(handledWrongly(10, [seen(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9)])).toContain("0 were not, 1 times");
  expect(() => seen(17)).toThrow("expected a message with a number below 16, got 17");
});

test("the slope of memory is not moved by a few samples that lie far off, and has a range", () => {
  const line = Array.from({ length: 50 }, (_, x): [number, number] => [x, 3 * x]);
  expect(theilSen(line)).toEqual({ median: 3, min: 3, max: 3 });
  const off = line.map(([x, y]): [number, number] => (x % 10 === 0 ? [x, y + 1000] : [x, y]));
  expect(theilSen(off)?.median).toBe(3);
  expect(theilSen(line.slice(0, 1))).toBeNull();
});

test.each([
  ["flat", 0, 1_000_000],
  ["grows", 16, 1_000_000],
  ["too short to say", 0, 50],
] as const)("memory is said to be: %s", (verdict, bytesPerMessage, messages) => {
  const samples = Array.from({ length: 100 }, (_, n) => {
    const handled = n * messages;
    const bytes = 50_000_000 + bytesPerMessage * handled + ((n * 7919) % 97) * 10_000;
    return { handled, rssBytes: bytes, heapBytes: bytes / 2 + (bytesPerMessage * handled) / 2 };
  });
  expect(growthOf(samples).verdict).toBe(verdict);
});

const options = { repeat: 2, processes: [4], systems: ["pgque", "graphile-worker", "bullmq"] };
const rates: Record<string, number[]> = { pgque: [100_000, 90_000], "graphile-worker": [10_000, 30_000] };

/** bullmq was not run. */
function results(): DrainResults {
  const { databaseUrl: _url, resultsFolder: _folder, ...settings } = resolveDrainSettings(options);
  return {
    schemaVersion: 2,
    scenario: "drain",
    startedAt: "2026-01-31T08:05:00.000Z",
    machine: { cpu: "a CPU", cores: 2, memoryBytes: 2 ** 33, platform: "linux", node: "24.0.0" },
    settings: { ...settings, indicative: false, server: { fsync: "on" }, embedded: true },
    trials: drainPlan(resolveDrainSettings(options)).map((trial) => ({
      ...trial,
      postgres: "17.10",
      figures: figuresOf(rates[trial.system]?.[trial.repeat - 1]),
      error: null,
      skipped: trial.system === "bullmq" ? "redis-server is not installed" : null,
    })),
    interrupted: false,
  };
}

function figuresOf(messagesPerSecond: number | undefined): DrainFigures | null {
  if (messagesPerSecond === undefined) return null;
  return {
    messagesPerSecond,
    seconds: 10,
    serverCpuSecondsPerThousand: 0.004,
    clientCpuSecondsPerThousand: 0.012,
    otherCpuSeconds: null,
    rssBytesMax: 2 ** 27,
    walBytesPerMessage: 10,
    growth: null,
  };
}

test("a drain's ratios are those of trials of one repeat, and a trial that was not run has its reason in place of numbers", () => {
  const markdown = reportMarkdown(drain.document(results(), [], null));
  expect(markdown).toContain(
    "| graphile-worker | 4 | 20,000 (10,000–30,000) | 6.50 (3.00–10.00) | ≥ 8.00 | not met | 1.00 | 4.0 ms | 12 ms |",
  );
  expect(markdown).toContain("- 4 processes, pgque / graphile-worker: 6.50 (3.00–10.00) (≥ 8.00): not met");
  expect(markdown).toContain("| bullmq | 4 | skipped, because redis-server is not installed |  |  |  |  |  |  |");
  expect(drain.report(results(), null)).toMatch(/^bullmq +4 +skipped, because redis-server is not installed/m);
});
