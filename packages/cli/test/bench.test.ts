import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { bin, environment } from "./support/pgque.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "pgque test bench "));
});
afterAll(() => rm(folder, { recursive: true }));

const latency = z.object({ mean: z.number(), p50: z.number(), p95: z.number(), p99: z.number(), max: z.number() });

/** The part of results.json that other programs rely on, for a run in which everything was measured. */
const resultsSchema = z.object({
  schemaVersion: z.literal(1),
  scenario: z.literal("xmin"),
  startedAt: z.iso.datetime(),
  machine: z.object({ cpu: z.string(), cores: z.int(), memoryBytes: z.int(), platform: z.string(), node: z.string() }),
  settings: z.looseObject({
    indicative: z.literal(true),
    synchronousCommit: z.literal("on"),
    embedded: z.literal(true),
  }),
  cells: z.array(
    z.object({
      system: z.enum(["pgque", "skip-locked"]),
      horizon: z.enum(["none", "repeatable-read"]),
      postgres: z.string().regex(/^17\.\d+$/),
      repeat: z.literal(1),
      enqueuedPerSecond: z.number().positive(),
      dequeuedPerSecond: z.number().positive(),
      deadTuples: z.int().nonnegative(),
      deadTuplesByRelation: z.record(z.string(), z.int().nonnegative()),
      bytes: z.int().positive(),
      bytesReclaimed: z.int().nonnegative(),
      rotations: z.int().nullable(),
      walBytesPerMessage: z.number().positive(),
      latencyMs: latency,
      bystanderMs: latency,
      depthMax: z.int().nonnegative(),
      drainSeconds: z.number().nullable(),
      error: z.null(),
    }),
  ),
});

const engineSchema = z.object({
  schemaVersion: z.literal(1),
  scenario: z.literal("engine"),
  startedAt: z.iso.datetime(),
  settings: z.looseObject({
    indicative: z.literal(true),
    sizes: z.record(z.string(), z.record(z.string(), z.number())),
  }),
  figures: z.array(
    z.object({
      name: z.string(),
      repeat: z.int(),
      postgres: z.string().regex(/^17\.\d+$/),
      values: z.record(z.string(), z.number().nullable()),
      target: z.record(z.string(), z.string()),
      met: z.boolean(),
      seconds: z.number().positive(),
      error: z.null(),
    }),
  ),
});

test("a quick run prints results.json, writes the folder and exits with 0", async () => {
  const results = path.join(folder, "complete");
  const run = pgque("bench", "--quick", "--duration", "1", "--results", results, "--json");
  const [output, progress, [exitCode]] = await finished(run);

  expect({ exitCode, progress }).toMatchObject({ exitCode: 0 });
  const { cells } = resultsSchema.parse(JSON.parse(output));
  const ran = cells.map(({ system, horizon }) => `${system}, ${horizon}`);
  expect(ran).toEqual(["pgque, none", "skip-locked, none", "pgque, repeatable-read", "skip-locked, repeatable-read"]);
  expect(cells.filter(({ system }) => system === "pgque").map(({ deadTuples }) => deadTuples)).toEqual([0, 0]);
  expect(cells[3]?.deadTuples).toBeGreaterThan(0);
  expect((await readdir(results)).sort()).toEqual(["report.md", "results.json", "samples.csv"]);
  expect(JSON.parse(await readFile(path.join(results, "results.json"), "utf8"))).toEqual(JSON.parse(output));
  expect(progress).toMatch(/4\/4 skip-locked, repeatable-read: [\d,]+\/s finished/);
});

test("Ctrl-C keeps the cells that were measured, stops the server and exits with 130", async () => {
  const results = path.join(folder, "stopped");
  const run = pgque("bench", "--quick", "--duration", "1", "--results", results);
  // A terminal sends it to the whole group and npm passes it on: it comes twice.
  run.stderr?.on("data", (chunk: Buffer) => {
    if (chunk.includes("1/4 ")) [run, run].forEach((child) => child.kill("SIGINT"));
  });
  const [output, progress, [exitCode]] = await finished(run);

  expect({ exitCode, progress }).toMatchObject({ exitCode: 130 });
  expect(output).toContain("Interrupted: only what was measured until then.");
  const { cells, interrupted } = JSON.parse(await readFile(path.join(results, "results.json"), "utf8"));
  expect(interrupted).toBe(true);
  expect(cells).toHaveLength(1);
});

test("engine measures the figures asked for, prints results.json and writes the folder", async () => {
  const results = path.join(folder, "engine");
  const run = pgque("bench", "engine", "--quick", "--figures", "idle", "--results", results, "--json");
  const [output, progress, [exitCode]] = await finished(run);

  expect({ exitCode, progress }).toMatchObject({ exitCode: 0 });
  const { figures } = engineSchema.parse(JSON.parse(output));
  expect(figures.map(({ name, repeat }) => [name, repeat])).toEqual([["idle", 1]]);
  expect((await readdir(results)).sort()).toEqual(["report.md", "results.json"]);
  expect(JSON.parse(await readFile(path.join(results, "results.json"), "utf8"))).toEqual(JSON.parse(output));
  expect(await readFile(path.join(results, "report.md"), "utf8")).toMatch(/^- idle: (not )?met: /m);
  expect(progress).toMatch(/1\/1 idle: (not )?met/);
});

test.each([
  [["--rate", "5"], "unknown option '--rate'"],
  [["--systems", "pgque"], "unknown option '--systems'"],
  [["--figures", "speed"], "expected `figures` to be some of send, finish, "],
  [["--repeat", "0"], "expected `repeat` to be an integer from 1 to 100, got: 0"],
])("engine %j is wrong usage: exit code 2 and what was expected", async (flags, message) => {
  const [, errors, [exitCode]] = await finished(pgque("bench", "engine", ...flags));
  expect(exitCode).toBe(2);
  expect(errors).toContain(message);
});

test("options of the other scenario before engine's name are refused, not ignored", async () => {
  const [, errors, [exitCode]] = await finished(pgque("bench", "--quick", "engine"));
  expect(exitCode).toBe(2);
  expect(errors).toContain("expected options of the scenario engine after its name, got before it: --quick");
});

test.each([
  [["--rate", "-1"], "expected `rate` to be an integer from 0 to 1000000, got: -1"],
  [["--rate", "fast"], "Expected a number"],
  [["--systems", "kafka"], "expected `systems` to be some of pgque, "],
])("%j is wrong usage: exit code 2 and what was expected", async (flags, message) => {
  const [, errors, [exitCode]] = await finished(pgque("bench", "--quick", ...flags));
  expect(exitCode).toBe(2);
  expect(errors).toContain(message);
});

function pgque(...args: string[]): ChildProcess {
  return spawn(process.execPath, [bin, ...args], { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
}

/** What it wrote to standard output and standard error, and how it ended. */
function finished(run: ChildProcess): Promise<[string, string, [number | null]]> {
  if (run.stdout === null || run.stderr === null) throw new Error("expected pipes");
  return Promise.all([text(run.stdout), text(run.stderr), once(run, "exit") as Promise<[number | null]>]);
}
