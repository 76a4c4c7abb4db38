import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { meanBytes, orders } from "#src/load/messages";
import { markdown as reportMarkdown } from "#src/report/markdown";
import type { SendFigures } from "#src/scenarios/send/measure";
import { resolveSendSettings, sendPlan, type SendOptions } from "#src/scenarios/send/plan";
import { send, type SendTrial, type SendResults } from "#src/scenarios/send/send";
import { peer } from "#src/adapters/support/library";

const small: SendOptions = { payloadBytes: [100], messages: [1000], connections: [4], repeat: 2 };

test("systems take turns under each load, and who comes first changes from repeat to repeat", () => {
  const plan = sendPlan(resolveSendSettings({ ...small, systems: ["pgque", "copy", "insert"] }));
  expect(plan.flat().map(({ repeat, group, system }) => `${repeat} ${group} ${system}`)).toEqual([
    "1 many pgque",
    "1 many copy",
    "1 many insert",
    "1 one pgque",
    "1 one insert",
    "2 many copy",
    "2 many insert",
    "2 many pgque",
    "2 one insert",
    "2 one pgque",
  ]);
});

test.each([100, 1024])("payloads differ, and have at least %i bytes but not a line more", (bytes) => {
  const all = orders(100, bytes);
  expect(new Set(all.map((order) => JSON.stringify(order))).size).toBe(100);
  expect(meanBytes(all)).toBeGreaterThanOrEqual(bytes);
  expect(meanBytes(all)).toBeLessThan(bytes + 60);
});

test("a peer that is not installed is a trial that is not run, and says what to install", async () => {
  const missing = "pgque-has-no-such-peer";
  await expect(peer(["a@1", "b@2"], () => import(missing))).rejects.toThrow(
    expect.objectContaining({ name: "NotRun", message: "a@1 or b@2 is not installed: npm install a@1 b@2" }),
  );
});

test("a peer of the working directory is loaded when none is beside the benchmark", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque peer "));
  const before = process.cwd();
  onTestFinished(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  mkdirSync(path.join(folder, "node_modules/@some/peer"), { recursive: true });
  writeFileSync(path.join(folder, "node_modules/@some/peer/index.js"), "exports.answer = 42;");
  process.chdir(folder);
  const missing = "@some/peer";
  expect(await peer(["@some/peer@1"], () => import(missing))).toMatchObject({ answer: 42 });
});

const options = { ...small, systems: ["pgque", "copy", "graphile-worker", "bullmq"] };

const rates: Record<string, number[]> = { pgque: [100_000, 90_000], "graphile-worker": [10_000, 30_000] };

/** copy failed, bullmq was not run. */
function results(): SendResults {
  const { databaseUrl: _url, resultsFolder: _folder, ...settings } = resolveSendSettings(options);
  const trials = sendPlan(resolveSendSettings(options))
    .flat()
    .filter(({ group }) => group === "many")
    .map((trial): SendTrial => ({
      ...trial,
      postgres: "17.10",
      figures: figuresOf(rates[trial.system]?.[trial.repeat - 1]),
      error: trial.system === "copy" ? "the disk is full" : null,
      skipped: trial.system === "bullmq" ? "redis-server is not installed" : null,
    }));
  return {
    schemaVersion: 2,
    scenario: "send",
    startedAt: "2026-01-31T08:05:00.000Z",
    machine: { cpu: "a CPU", cores: 2, memoryBytes: 2 ** 33, platform: "linux", node: "24.0.0" },
    settings: { ...settings, indicative: false, server: { fsync: "on" }, embedded: true },
    trials,
    interrupted: false,
  };
}

function figuresOf(messagesPerSecond: number | undefined): SendFigures | null {
  if (messagesPerSecond === undefined) return null;
  return {
    messagesPerSecond,
    payloadBytesMean: 111,
    seconds: 2,
    sent: messagesPerSecond * 2,
    serverCpuSecondsPerThousand: 0.004,
    clientCpuSecondsPerThousand: 0.012,
    otherCpuSeconds: null,
    clientBusy: 0.5,
    walBytesPerMessage: 250,
    callMs: null,
  };
}

test("ratios are those of trials of one repeat, and targets are compared with their median", () => {
  const markdown = reportMarkdown(send.document(results(), [], null));
  expect(markdown).toContain(
    "| graphile-worker | 100 B | 1,000 | 20,000 (10,000–30,000) | 6.50 (3.00–10.00) | ≥ 5.00 | met | 1.00 | 4.0 ms | 12 ms |",
  );
  expect(markdown).toContain("- many, pgque / graphile-worker: median 6.50 (≥ 5.00): met");
});

test("a trial that failed or was not run has its reason in place of numbers", () => {
  const markdown = reportMarkdown(send.document(results(), [], null));
  expect(markdown).toContain("| copy | 100 B | 1,000 | error: the disk is full |  |  |  |  |  |  |");
  expect(markdown).toContain(
    "| bullmq | 100 B | 1,000 | skipped, because redis-server is not installed |  |  |  |  |  |  |",
  );
  expect(markdown).toContain("- many, pgque / bullmq: skipped, because redis-server is not installed");
  expect(send.report(results(), null)).toMatch(
    /^bullmq +100 B +1,000 +skipped, because redis-server is not installed/m,
  );
});
