import { mkdir, symlink } from "node:fs/promises";
import { Pgque } from "@pgque/client";
import { afterAll, beforeEach, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { pgque as command } from "./support/pgque.ts";
import { TaskFolder } from "./support/task-folder.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());
const env = { DATABASE_URL: database.url };

let folder: TaskFolder;
beforeEach(async () => {
  folder = await TaskFolder.create({ "audit.js": "export default () => {};" });
});

/** What a worker says that is not to start, with FOLDER for the folder; nothing was made in the database, of any task. */
async function refused(...args: string[]): Promise<{ code: number | null; err: string }> {
  const { code, out, err } = await command(["worker", ...args], env);
  expect(out).toBe("");
  expect(await pgque.queues.list()).toEqual([]);
  expect(await pgque.schedules.list()).toEqual([]);
  return { code, err: err.replaceAll(folder.path, "FOLDER") };
}

test.each([
  ["orders.js", "export default 7", "to export by default a function or an object with a `handler`, got: 7"],
  ["orders.js", "export const handler = () => {}", "got: undefined"],
  ["orders.ts", "// a comment\nexport default async ( => {}", "FOLDER/orders.ts:2"],
  ["orders.ts", "enum Kind { A }", "FOLDER/orders.ts:1\n  because: TypeScript enum is not supported"],
  ["orders.js", "// a comment\nexport default async ( => {}", "FOLDER/orders.js:2"],
  ["orders.ts", 'import "./missing.ts"', "missing.ts"],
  ["orders.ts", 'import "./audit"', "orders.ts: an import names the file as it is, audit.js\n"],
  ["orders.ts", 'import "no-such-package"', "Cannot find package 'no-such-package'"],
  ["orders.ts", '\nimport { none } from "node:fs"', "FOLDER/orders.ts:2\n  because: The requested module"],
  ["orders.js", "export default { queue: 'orders', handler() {} }", "expected `queue` of"],
  ["orders.js", "export default { concurrency: 0, handler() {} }", "expected `concurrency` to be an integer from 1"],
  [
    "orders.js",
    "export default { concurency: 1, handler() {} }",
    "FOLDER/orders.js\n  because: new Worker: unknown option",
  ],
  [`${"o".repeat(58)}.js`, "export default () => {}", "to be named like the queue that it serves"],
])("%s with %j is wrong usage, and no task runs", async (file, code, message) => {
  await folder.write(file, code);
  expect(await refused(folder.path)).toEqual({ code: 2, err: expect.stringContaining(message) });
});

test.each([
  ["throw new Error('boom')", "FOLDER/orders.js:1\n  because: boom"],
  ["\n\nundefined.nothing", "FOLDER/orders.js:3"],
  ["throw null", "could not load FOLDER/orders.js"],
])("a file that throws has failed, which may pass: %j", async (code, message) => {
  await folder.write("orders.js", code);
  expect(await refused(folder.path)).toEqual({ code: 1, err: expect.stringContaining(message) });
});

test("a module in a project that is not one is told what is missing", async () => {
  await folder.write("package.json", '{"type": "commonjs"}');
  const { code, err } = await refused(folder.path);
  expect(code).toBe(2);
  expect(err).toContain('the nearest package.json has to say "type": "module"');
});

test("a link to a file that is gone is named; one to a folder is not a task", async () => {
  await mkdir(folder.file("of tasks"));
  await symlink(folder.file("of tasks"), folder.file("linked.js"));
  await symlink(folder.file("gone.js"), folder.file("orders.js"));
  expect(await refused(folder.path)).toEqual({
    code: 2,
    err: expect.stringContaining('expected a file at "FOLDER/orders.js", found a link that leads nowhere'),
  });
});

test("two files for one queue and consumer are refused", async () => {
  await folder.write(
    "b.js",
    'import { defineQueue } from "@pgque/client"; export default { queue: defineQueue("audit"), handler() {} }',
  );
  expect(await refused(folder.path)).toEqual({ code: 2, err: expect.stringContaining('got two for queue "audit"') });
});

test.each([
  ["nowhere", "found: nothing there"],
  ["audit.js", "found: a file"],
  ["empty", "expected files with handlers"],
])("a folder without tasks is wrong usage: %j", async (name, message) => {
  await mkdir(folder.file("empty"));
  expect(await refused(folder.file(name))).toEqual({ code: 2, err: expect.stringContaining(message) });
});

test.each([
  ["@daily audit\n0 25 * * * audit", "line 2, column 1: expected `cron` to be a cron expression"],
  ["@daily audit ?id=a {", "line 1, column 21: expected the payload to be JSON"],
  ["* * * * audit", "line 1, column 14: expected a queue after the time"],
  ["\n@daily order", 'line 2 of FOLDER/crontab to name a queue that a task serves, got: "order"; served: "audit"'],
  ["@daily audit ?id=nightly", 'a name of its own on line 1 of FOLDER/crontab, got: "nightly", as in FOLDER/own.js'],
])("a crontab with %j is wrong usage, and none of it is set", async (text, message) => {
  await folder.write(
    "own.js",
    'export default { schedules: { nightly: { cron: "@daily", payload: 1 } }, handler() {} };',
  );
  await folder.write("crontab", text);
  const { code, err } = await refused(folder.path, "--crontab", folder.file("crontab"));
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
});

test.each([
  ["nothing", "nothing there"],
  ["", "a folder"],
])("a crontab that is %j is wrong usage", async (name, message) => {
  const { code, err } = await refused(folder.path, "--crontab", folder.file(name));
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(`expected a crontab at .*, found: ${message}`) });
});

test.each([
  ["--concurrency", "0", "Expected an integer from 1 to 10000"],
  ["--consumer", "", "Expected 1 to 57 bytes"],
])("an option out of range is told by its name, not by that of a task: %s %j", async (option, value, message) => {
  const { code, err } = await refused(folder.path, option, value);
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringMatching(new RegExp(`option '(-., )?${option} .*${message}`)),
  });
});
