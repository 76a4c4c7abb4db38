import { expect, test } from "vitest";
import { markdown as reportMarkdown } from "#src/report/markdown";
import { resolveEngineSettings } from "#src/scenarios/engine/engine";
import type { EngineResults, MicrobenchmarkResult } from "#src/scenarios/engine/results";
import { engineDocument, engineTerminalReport, summaryOf } from "#src/scenarios/engine/report";

function idle(
  repeat: number,
  values: Record<string, number | null>,
  error: string | null = null,
): MicrobenchmarkResult {
  const met = error === null ? true : null;
  return { name: "idle", repeat, postgres: "17.10", values, target: {}, met, seconds: 1, error };
}

function results(...microbenchmarks: MicrobenchmarkResult[]): EngineResults {
  const settings = resolveEngineSettings({ quick: true, microbenchmarks: ["idle"] });
  return {
    schemaVersion: 2,
    scenario: "engine",
    startedAt: "2026-01-31T08:05:00.000Z",
    machine: { cpu: "a CPU", cores: 2, memoryBytes: 2 ** 34, platform: "linux", node: "24.0.0" },
    settings: { ...settings, indicative: true, embedded: true, server: { fsync: "on" }, sizes: { idle: { polls: 5 } } },
    microbenchmarks,
    interrupted: false,
  };
}

const none = { transactionIds: 0, walBytes: 0, cursors: 0 };

test("the median is compared with the target, and the range is shown", () => {
  const run = results(idle(1, none), idle(2, { ...none, walBytes: 90 }), idle(3, none));
  expect(summaryOf(run)[0]?.verdict).toBe("met");
  expect(reportMarkdown(engineDocument(run))).toContain("| WAL | 0 B (0 B–90 B) | 0 B | met |");
  const worse = results(idle(1, { ...none, walBytes: 80 }), idle(2, { ...none, walBytes: 90 }), idle(3, none));
  expect(reportMarkdown(engineDocument(worse))).toContain(
    "- idle: not met: transaction ids 0 (0), WAL 80 B (0 B, not met)",
  );
  expect(reportMarkdown(engineDocument(worse))).toContain("- sizes: polls 5");
});

test("a value that could not be measured is neither met nor missed", () => {
  const run = results(idle(1, { ...none, walBytes: null }));
  expect(summaryOf(run)[0]?.verdict).toBe("not measured");
  expect(reportMarkdown(engineDocument(run))).toContain("| WAL | – | 0 B | not measured |");
});

test("a microbenchmark without targets is neither met nor missed", () => {
  const run = results({ ...idle(1, {}), name: "memory", values: { statements: 32 } });
  run.settings.microbenchmarks = ["memory"];
  expect(reportMarkdown(engineDocument(run))).toContain("- memory: no target\n");
  expect(reportMarkdown(engineDocument(run))).toContain("| statements kept, each queue | 32 |  |  |");
});

test("a microbenchmark that failed prints its error and no number", () => {
  const run = results(idle(1, {}, "deadlock detected"));
  expect(reportMarkdown(engineDocument(run))).toContain("- idle: error: deadlock detected");
  expect(reportMarkdown(engineDocument(run))).not.toContain("| WAL");
  const [head = "", line = "", ...rest] = engineTerminalReport(run).split("\n");
  expect(head).toContain("measured");
  expect(line).toMatch(/^idle +error: deadlock detected *$/);
  expect(rest.join("\n")).not.toContain("WAL");
});
