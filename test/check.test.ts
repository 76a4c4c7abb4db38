import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");

type Tree = Record<string, string>;

/** Runs a check on a tree of files, and returns what it says; "" when all is well. */
function check(script: string, tree: Tree): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-check-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [file, text] of Object.entries(tree)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [path.join(root, "scripts", script), folder], {
    encoding: "utf8",
  });
  expect(status).toBe(stderr === "" ? 0 : 1);
  return stderr;
}

describe("the architecture", () => {
  const client = "packages/client/src";
  const lines = (count: number): string => "export {};\n".repeat(count);
  const sound: Tree = {
    "packages/client/package.json": JSON.stringify({ name: "@pgque/client", exports: "./dist/index.js" }),
    [`${client}/index.ts`]: 'export * from "./a.ts";\n',
    [`${client}/a.ts`]: lines(30),
  };
  const architecture = (files: Tree, exceptions: Record<string, string[]> = {}): string =>
    check("check-architecture.mjs", {
      ...sound,
      "scripts/check-exceptions.json": JSON.stringify(exceptions),
      ...files,
    });

  test("is as expected where nothing violates it", () => {
    expect(architecture({})).toBe("");
  });

  test("has no import cycle, type imports and imports at run time included", () => {
    const said = architecture({
      [`${client}/a.ts`]: `import type { B } from "#src/b";\n${lines(30)}`,
      [`${client}/b.ts`]: `const c = await import("./c.ts");\n${lines(30)}`,
      [`${client}/c.ts`]: `export * from "./a.ts";\n${lines(30)}`,
    });
    expect(said).toContain(
      `${client}/a.ts: expected no import cycle, found ${client}/a.ts -> ${client}/b.ts -> ${client}/c.ts -> ${client}/a.ts`,
    );
  });

  test("has at most 15 files in a folder that is no registry", () => {
    const many = (folder: string): Tree =>
      Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`${folder}/${i}.ts`, lines(30)]));
    expect(architecture(many(`${client}/send`))).toContain(
      `${client}/send: expected at most 15 source files in a folder, found 16`,
    );
    expect(architecture(many(`${client}/adapters`))).toBe("");
  });

  test("has no file above 300 lines without blanks", () => {
    expect(architecture({ [`${client}/a.ts`]: lines(300).replaceAll("\n", "\n\n") })).toBe("");
    expect(architecture({ [`${client}/a.ts`]: lines(301) })).toContain(
      `${client}/a.ts: expected at most 300 lines without blanks, found 301`,
    );
  });

  test("has no small file with a single importer", () => {
    const tiny = { [`${client}/a.ts`]: lines(24) };
    expect(architecture(tiny)).toContain(
      `${client}/a.ts: expected 25 lines or a second importer, found 24 lines and only ${client}/index.ts`,
    );
    expect(architecture({ ...tiny, [`${client}/b.ts`]: `import "./a.ts";\n${lines(30)}` })).toBe("");
  });

  test("has packages that depend on each other in one direction", () => {
    expect(
      architecture({ [`${client}/a.ts`]: `import type { Worker } from "@pgque/worker";\n${lines(30)}` }),
    ).toContain(`${client}/a.ts: expected @pgque/client to import @pgque/sql, found @pgque/worker`);
  });

  test("has exceptions, of files and folders, each of which is needed", () => {
    const long = { [`${client}/a.ts`]: lines(301) };
    expect(architecture(long, { long: [`${client}/a.ts`] })).toBe("");
    expect(architecture(long, { long: [`${client}/`] })).toBe("");
    expect(architecture({}, { long: [`${client}/a.ts`] })).toContain(
      `expected a violation of "long" at ${client}/a.ts, found none. Remove the exception`,
    );
  });
});

describe("the words of public names", () => {
  const program = (flag: string): string =>
    `export const scenarioFlags = () => ({});\nexport const program = () => ({ name: () => "send", options: [{ long: "${flag}" }], commands: [] });`;
  const sound: Tree = {
    "docs/glossary.md": "| word | meaning |\n|---|---|\n| lease | how long |\n",
    "packages/cli/dist/main.js": program("--retries"),
    "packages/client/dist/options/index.js": "export const sendOptions = { retryMs: {} };",
    "packages/worker/dist/options.js": "export const workerOptions = { leaseMs: {} };",
    "packages/worker/dist/events/worker-events.js": "export const workerEventNames = { leaseLost: true };",
    "sql/schema/core/a.sql": "create function retry_send(a int) returns int\n",
    "scripts/words.txt": "lost\nms\nretry\nsend\n",
    "scripts/check-exceptions.json": JSON.stringify({ words: [] }),
  };
  const words = (files: Tree): string => check("check-words.mjs", { ...sound, ...files });

  test("are in the list or in the glossary, whatever their ending", () => {
    expect(words({})).toBe("");
  });

  test.each([
    ["a flag", { "packages/cli/dist/main.js": program("--fancy-retries") }, "send: expected --fancy-retries"],
    [
      "a function",
      { "sql/schema/core/b.sql": "create or replace function fancy_send()\n" },
      "sql/schema/core/b.sql: expected fancy_send",
    ],
    [
      "an option",
      { "packages/client/dist/options/index.js": "export const sendOptions = { fancyMs: {} };" },
      "sendOptions: expected fancyMs",
    ],
    [
      "an event",
      {
        "packages/worker/dist/events/worker-events.js":
          "export const workerEventNames = { leaseLost: true, fancy: true };",
      },
      "worker event: expected fancy",
    ],
  ])("are known in %s", (_, files, place) => {
    expect(words(files)).toContain(`${place} to be made of known words, found "fancy"`);
  });

  test("are listed only where a name has them, in order and once", () => {
    expect(words({ "scripts/words.txt": "lost\nms\nqueue\nretry\nsend\n" })).toContain('no name has the word "queue"');
    expect(words({ "scripts/words.txt": "retry\nlost\nms\nsend\n" })).toContain(
      "expected each word once, in the order of sort",
    );
  });

  test("have exceptions, each of which is needed", () => {
    const exception = { "scripts/check-exceptions.json": JSON.stringify({ words: ["--fancy"] }) };
    expect(
      words({
        ...exception,
        "packages/cli/dist/main.js": program("--fancy"),
        "scripts/words.txt": "lost\nms\nretry\nsend\n",
      }),
    ).toBe("");
    expect(words(exception)).toContain("expected an unknown word in --fancy, found none. Remove the exception");
  });
});
