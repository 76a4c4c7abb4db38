import { defineQueue } from "@pgque/client";
import { expect, test } from "vitest";
import { freshCli } from "./support/cli.ts";
import { type Ended, Running } from "./support/pgque.ts";
import { TaskFolder } from "./support/task-folder.ts";

const { client, database } = await freshCli();

/** Runs the command in the folder where a configuration is. */
const runIn = (folder: TaskFolder, args: string[], env: Record<string, string> = {}): Promise<Ended> =>
  new Running(args, env, folder.path).ended;

const configOf = (text: string): string =>
  `import { defineConfig } from "pgque"; export default defineConfig({ databaseUrl: "${database.url}", ${text} });`;

test("commands take from pgque.config.ts what they are not given", async () => {
  const folder = await TaskFolder.create({
    "pgque.config.ts": configOf('schema: "configured", folder: ".", queue: ["wanted"]'),
    "wanted.js": "export default () => console.log('wanted ran');",
    "other.js": "export default () => console.log('other ran');",
  });
  // a folder of tasks that is its own project: the configuration is no task
  expect((await runIn(folder, ["install"])).out).toContain('in schema "configured"');
  await runIn(folder, ["queue", "create", "wanted"]);
  await runIn(folder, ["consumer", "add", "wanted", "default"]);
  await runIn(folder, ["send", "wanted", "1"]);
  const { code, out, err } = await runIn(folder, ["worker", "--once"]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain("wanted ran");
});

test("the environment counts for more than the file, and the command line for more than both", async () => {
  const folder = await TaskFolder.create({ "pgque.config.mjs": `export default { schema: "of_file" };` });
  const schema = async (args: string[], env: Record<string, string>): Promise<string | undefined> =>
    /create schema if not exists (\S+);|create schema if not exists "(\w+)"/.exec(
      (await runIn(folder, ["sql", ...args], env)).out,
    )?.[0];
  expect(await schema([], {})).toContain("of_file");
  expect(await schema([], { PGQUE_SCHEMA: "of_environment" })).toContain("of_environment");
  expect(await schema(["--schema", "given"], { PGQUE_SCHEMA: "of_environment" })).toContain("given");
});

test("a database in the environment counts for more than that of the file", async () => {
  const folder = await TaskFolder.create({
    "pgque.config.js": `export default { databaseUrl: "postgres://nobody@127.0.0.1:1/none" };`,
  });
  await client.ensure(defineQueue("here"));
  expect((await runIn(folder, ["queue", "list"])).code).toBe(1);
  const { code, out } = await runIn(folder, ["queue", "list"], { DATABASE_URL: database.url });
  expect(code).toBe(0);
  expect(out).toContain("here");
});

test.each([
  ["export default { metricPort: 1 }", "unknown key `metricPort`; did you mean `metricsPort`?"],
  ["export default { 'database-url': 'x' }", "unknown key `database-url`; did you mean `databaseUrl`?"],
  ["export default { elephants: 1 }", "unknown key `elephants`. Known: databaseUrl, schema"],
  ["export default { concurrency: '5' }", "expected `concurrency` to be a number, got: '5'"],
  ["export default { queue: [1] }", "expected `queue` to be a string or an array of strings"],
  ["export default { metricsPort: 70000 }", "`metricsPort`: Expected a port from 0 to 65535"],
  ["export default { logLevel: 'loud' }", "`logLevel`"],
  ["export default { concurrency: 0 }", "`concurrency`: Expected an integer from 1 to 10000"],
  ["\nexport default { concurrency 3 }", "pgque.config.ts:2"],
  ["export const config = {}", "to export an object by default, got: undefined"],
])("%s is wrong usage", async (code, message) => {
  const folder = await TaskFolder.create({ "pgque.config.ts": code });
  const ended = await runIn(folder, ["worker", "tasks"], { DATABASE_URL: database.url });
  expect(ended.code).toBe(2);
  expect(ended.err).toContain(`pgque.config.ts`);
  expect(ended.err).toContain(message);
});

test("a configuration that does not load is named with the line", async () => {
  const folder = await TaskFolder.create({ "mine.ts": "\n\nthrow new Error('no secret here')" });
  const ended = await runIn(folder, ["queue", "list", "--config", "mine.ts"]);
  expect(ended).toMatchObject({ code: 1, err: expect.stringMatching(/mine\.ts:3.*no secret here/s) });
  const missing = await runIn(folder, ["queue", "list", "--config", "yours.ts"]);
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('"yours.ts", found: nothing there') });
});

test("what is the worker's in the file is no other command's: its consumer is not the one that is purged", async () => {
  const folder = await TaskFolder.create({ "pgque.config.ts": configOf('consumer: "billing"') });
  const queue = defineQueue("billed");
  await client.ensure(queue);
  await client.subscribe(queue, "billing");
  await client.send(queue, 1);
  const batch = await client.receive(queue, { consumer: "billing" });
  await batch.bury(batch.open, "no");
  const { code, err } = await runIn(folder, ["dlq", "purge", "billed", "--yes"]);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("--all") });
  expect(await client.deadLetters.list(queue)).toHaveLength(1);
  expect((await runIn(folder, ["dlq", "redrive", "billed", "--all"])).code).toBe(0);
  expect(await client.deadLetters.list(queue)).toEqual([]);
});
