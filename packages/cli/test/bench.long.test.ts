import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
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
  schemaVersion: z.literal(2),
  scenario: z.literal("xmin"),
  startedAt: z.iso.datetime(),
  command: z.string().regex(/^npx pgque bench (?=.*--quick)(?=.*--duration 1)(?!.*--results)/),
  machine: z.object({ cpu: z.string(), cores: z.int(), memoryBytes: z.int(), platform: z.string(), node: z.string() }),
  settings: z.looseObject({
    indicative: z.literal(true),
    synchronousCommit: z.literal("on"),
    embedded: z.literal(true),
  }),
  trials: z.array(
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
      skipped: z.null(),
      error: z.null(),
    }),
  ),
});

const engineSchema = z.object({
  schemaVersion: z.literal(2),
  scenario: z.literal("engine"),
  startedAt: z.iso.datetime(),
  settings: z.looseObject({
    indicative: z.literal(true),
    sizes: z.record(z.string(), z.record(z.string(), z.number())),
  }),
  microbenchmarks: z.array(
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

const sendSchema = z.object({
  schemaVersion: z.literal(2),
  scenario: z.literal("send"),
  startedAt: z.iso.datetime(),
  settings: z.looseObject({ indicative: z.literal(true), synchronousCommit: z.literal("on") }),
  trials: z.array(
    z.object({
      group: z.enum(["many", "one"]),
      system: z.string(),
      payloadBytes: z.literal(100),
      messages: z.int(),
      connections: z.int(),
      postgres: z.string().regex(/^17\.\d+$/),
      repeat: z.literal(1),
      figures: z
        .looseObject({
          messagesPerSecond: z.number().positive(),
          serverCpuSecondsPerThousand: z.number().positive(),
          clientCpuSecondsPerThousand: z.number().positive(),
          walBytesPerMessage: z.number().positive(),
        })
        .nullable(),
      skipped: z.string().nullable(),
      error: z.null(),
    }),
  ),
});

test("a quick run prints results.json, writes the folder and exits with 0", async () => {
  const results = path.join(folder, "complete");
  const run = pgque("bench", "--quick", "--duration", "1", "--results", results, "--json");
  const [output, progress, [exitCode]] = await finished(run);

  expect({ exitCode, progress }).toMatchObject({ exitCode: 0 });
  const { trials } = resultsSchema.parse(JSON.parse(output));
  const ran = trials.map(({ system, horizon }) => `${system}, ${horizon}`);
  expect(ran).toEqual(["pgque, none", "skip-locked, none", "pgque, repeatable-read", "skip-locked, repeatable-read"]);
  expect(trials.filter(({ system }) => system === "pgque").map(({ deadTuples }) => deadTuples)).toEqual([0, 0]);
  expect(trials[3]?.deadTuples).toBeGreaterThan(0);
  expect((await readdir(results)).sort()).toEqual(["report.html", "report.md", "results.json", "samples.csv"]);
  expect(JSON.parse(await readFile(path.join(results, "results.json"), "utf8"))).toEqual(JSON.parse(output));
  expect(progress).toMatch(/4\/4 skip-locked, repeatable-read: [\d,]+\/s finished/);
});

test("Ctrl-C keeps the trials that were measured, stops the server and exits with 130", async () => {
  const results = path.join(folder, "stopped");
  const run = pgque("bench", "--quick", "--duration", "1", "--results", results);
  // A terminal sends it to the whole group and npm passes it on: it comes twice.
  run.stderr?.on("data", (chunk: Buffer) => {
    if (chunk.includes("1/4 ")) [run, run].forEach((child) => child.kill("SIGINT"));
  });
  const [output, progress, [exitCode]] = await finished(run);

  expect({ exitCode, progress }).toMatchObject({ exitCode: 130 });
  expect(output).toContain("Interrupted: only what was measured until then.");
  const { trials, interrupted } = JSON.parse(await readFile(path.join(results, "results.json"), "utf8"));
  expect(interrupted).toBe(true);
  expect(trials).toHaveLength(1);
});

test("engine measures the microbenchmarks asked for, prints results.json and writes the folder", async () => {
  const results = path.join(folder, "engine");
  const run = pgque("bench", "engine", "--quick", "--microbenchmarks", "idle", "--results", results, "--json");
  const [output, progress, [exitCode]] = await finished(run);

  expect({ exitCode, progress }).toMatchObject({ exitCode: 0 });
  const { microbenchmarks } = engineSchema.parse(JSON.parse(output));
  expect(microbenchmarks.map(({ name, repeat }) => [name, repeat])).toEqual([["idle", 1]]);
  expect((await readdir(results)).sort()).toEqual(["report.html", "report.md", "results.json"]);
  expect(JSON.parse(await readFile(path.join(results, "results.json"), "utf8"))).toEqual(JSON.parse(output));
  expect(await readFile(path.join(results, "report.md"), "utf8")).toMatch(/^- idle: (not )?met: /m);
  expect(progress).toMatch(/1\/1 idle: (not )?met/);
});

test("send measures every system that is installed, and says what is not", async () => {
  const results = path.join(folder, "send");
  const systems = ["pgque", "pgque-zod", "copy", "insert", "graphile-worker", "bullmq", "pgque-unprepared"];
  const shape = ["--payload-bytes", "100", "--messages", "1000", "--connections", "2"];
  const run = spawn(
    process.execPath,
    [bin, "bench", "send", "--quick", "--systems", systems.join(","), ...shape, "--results", results, "--json"],
    { env: environment({ PATH: await pathWithoutRedis() }), stdio: ["ignore", "pipe", "pipe"] },
  );
  const [output, progress, [exitCode]] = await finished(run);

  expect({ exitCode, progress }).toMatchObject({ exitCode: 0 });
  const { trials } = sendSchema.parse(JSON.parse(output));
  const measured = trials.filter(({ skipped }) => skipped === null).map(({ group, system }) => `${group} ${system}`);
  expect(measured).toEqual([
    ...["pgque", "pgque-zod", "graphile-worker", "copy", "insert"].map((system) => `many ${system}`),
    ...["pgque", "pgque-unprepared", "insert"].map((system) => `one ${system}`),
  ]);
  expect((await readdir(results)).sort()).toEqual(["report.html", "report.md", "results.json"]);
  expect(JSON.parse(await readFile(path.join(results, "results.json"), "utf8"))).toEqual(JSON.parse(output));
  const report = await readFile(path.join(results, "report.md"), "utf8");
  for (const { system } of trials) expect(report).toMatch(new RegExp(`^\\| ${system} \\| 100 B \\| `, "m"));
  expect(report).toContain("| bullmq | 100 B | 1,000 | skipped, because redis-server is not installed");
});

/** What starting a PostgreSQL needs, and nothing else. */
async function pathWithoutRedis(): Promise<string> {
  const programs = path.join(folder, "programs");
  await mkdir(programs);
  for (const program of ["sh", "sleep", "rm"]) await symlink(`/bin/${program}`, path.join(programs, program));
  return programs;
}

function pgque(...args: string[]): ChildProcess {
  return spawn(process.execPath, [bin, ...args], { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
}

/** What it wrote to standard output and standard error, and how it ended. */
function finished(run: ChildProcess): Promise<[string, string, [number | null]]> {
  if (run.stdout === null || run.stderr === null) throw new Error("expected pipes");
  return Promise.all([text(run.stdout), text(run.stderr), once(run, "exit") as Promise<[number | null]>]);
}
