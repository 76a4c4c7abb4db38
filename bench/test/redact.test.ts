import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { redact } from "@pgque/client/redact";
import { expect, onTestFinished, test } from "vitest";
import { writeFolder } from "#src/report/files";
import { measuredTrial } from "#src/runner/trials";
import { whyNot } from "#src/runner/failure";
import { terminalProgress } from "#src/runner/terminal-progress";

// What a run prints and writes can be read by anybody: no password of the server that it was given.

const url = "postgres://bench:s3cret@db.example/x?sslpassword=t0psecret";
const failed = new Error(`Command failed: pg_dump --dbname ${url}`);
const secrets = /s3cret|t0psecret/;

test("a failure that is kept among the results has no password in it", async () => {
  expect(whyNot(failed).error).toBe(
    "Command failed: pg_dump --dbname postgres://bench:****@db.example/x?sslpassword=****",
  );
  const context = { server: { version: "17.0" }, signal: new AbortController().signal } as never;
  const trial = await measuredTrial({ system: "pgque" }, context, () => Promise.reject(failed));
  expect(JSON.stringify(trial)).not.toMatch(secrets);
});

test("neither has anything else in results.json", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "pgque-redact-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFolder(folder, { command: `pgque bench --database-url ${url}`, trials: [{ error: url }], rate: 1 }, {});
  const written = await readFile(path.join(folder, "results.json"), "utf8");
  expect(written).not.toMatch(secrets);
  expect(JSON.parse(written)).toMatchObject({ rate: 1, trials: [{ error: redact(url) }] });
});

test("nor the lines of its progress", () => {
  const stream = new PassThrough();
  const progress = terminalProgress(stream as unknown as NodeJS.WriteStream);
  progress.begin(`on ${url}`, 1, 1);
  progress.stepStarted(url);
  progress.note(url);
  progress.stepDone(failed.message);
  progress.end();
  const lines = String(stream.read());
  expect(lines).toContain("postgres://bench:****@db.example");
  expect(lines).not.toMatch(secrets);
});

test("the results that are published are as they were written: nothing in them is taken for a secret", async () => {
  const results = path.join(import.meta.dirname, "../results");
  const files = (await readdir(results, { recursive: true })).filter((file) => file.endsWith("results.json"));
  expect(files.length).toBeGreaterThan(5);
  const changed: string[] = [];
  for (const file of files) {
    JSON.parse(await readFile(path.join(results, file), "utf8"), (_, value: unknown) => {
      if (typeof value === "string" && redact(value) !== value) changed.push(value);
      return value;
    });
  }
  expect(changed).toEqual([]);
});
