import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { Pgque, defineQueue } from "@pgque/client";
import { afterAll, beforeEach, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { pgque as command, Running } from "./support/pgque.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());
const env = { DATABASE_URL: database.url };

// beside this file: that is where a task file finds the packages it imports
const scratch = await mkdtemp(path.join(import.meta.dirname, "tasks of a test "));
afterAll(() => rm(scratch, { recursive: true }));
let folder: string;
let count = 0;
beforeEach(async () => {
  folder = path.join(scratch, `${++count}`);
  await mkdir(folder);
});

const write = (file: string, code: string): Promise<void> => writeFile(path.join(folder, file), code);

async function emptyQueue(name: string): Promise<ReturnType<typeof defineQueue>> {
  const queue = defineQueue(name);
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "default");
  return queue;
}

test("serves a queue for each file, in TypeScript and JavaScript, until SIGTERM; then it lets handlers finish", async () => {
  await write(
    "greetings.ts",
    `import { defineQueue } from "@pgque/client";
     import { defineTask } from "pgque";
     import { z } from "zod";
     const queue = defineQueue("typed greetings", { payload: z.object({ name: z.string() }) });
     export default defineTask({ queue, concurrency: 2, handler: async ({ payload }) => {
       console.log("hello " + payload.name satisfies string);
     } });`,
  );
  await write(
    "slow.js",
    `export default async (message, { log }) => {
       log.info("begun");
       await new Promise((resolve) => process.once("SIGTERM", () => setTimeout(resolve, 200)));
       console.log("finished", message.payload);
     };`,
  );
  await write("_helper.ts", "throw new Error('not a task')");
  await write("slow.test.ts", "throw new Error('not a task')");
  const [greetings, slow] = [await emptyQueue("typed greetings"), await emptyQueue("slow")];
  await pgque.send(greetings, { name: "Ada 👩‍💻" });
  await pgque.send(slow, 7);

  const worker = new Running(["worker", folder], env);
  await worker.says("hello Ada 👩‍💻");
  await worker.says("begun");
  worker.kill("SIGTERM");
  const { code, out } = await worker.ended;
  expect(code).toBe(0);
  expect(out).toContain("finished 7");
  expect((await pgque.receive(slow)).messages).toEqual([]);
});

test("a second signal ends it at once with exit code 1", async () => {
  await write("forever.js", `export default () => new Promise(() => console.log("begun"));`);
  const queue = await emptyQueue("forever");
  await pgque.send(queue, 1);
  const worker = new Running(["worker", folder], env);
  await worker.says("begun");
  worker.kill("SIGINT");
  await worker.says("stopping");
  // a second within a second is taken for the same Ctrl-C
  const since = performance.now();
  await until(() => performance.now() - since > 1100, "a second has passed");
  worker.kill("SIGINT");
  expect((await worker.ended).code).toBe(1);
});

test("what it had in hand when it was killed is handled by the next one", async () => {
  await write(
    "orders.js",
    `import { existsSync } from "node:fs";
     export default { leaseMs: 1000, heartbeatIntervalMs: 200, handler: async (message, { attempt }) => {
       console.log("attempt " + attempt);
       if (attempt === 1) await new Promise(() => undefined);
     } };`,
  );
  const queue = await emptyQueue("orders");
  await pgque.send(queue, 1);
  const first = new Running(["worker", folder], env);
  await first.says("attempt 1");
  first.kill("SIGKILL");
  await first.ended;
  const second = new Running(["worker", folder], env);
  await second.says("attempt 2");
  second.kill("SIGTERM");
  expect((await second.ended).code).toBe(0);
});

test.each([
  ["orders.js", "export default 7", "to export by default a function or an object with a `handler`, got: 7"],
  ["orders.js", "export const handler = () => {}", "got: undefined"],
  ["orders.js", "throw new Error('boom')", "boom"],
  ["orders.ts", "export default async ( => {}", "orders.ts"],
  ["orders.js", "export default { queue: 'orders', handler() {} }", "expected `queue` of"],
  ["orders.js", "export default { concurrency: 0, handler() {} }", "expected `concurrency` to be an integer from 1"],
])("%s with %j is refused before anything is received", async (file, code, message) => {
  await write(file, code);
  const ended = await command(["worker", folder], env);
  expect(ended.code).toBe(1);
  expect(ended.err).toContain(message);
});

test("two files for one queue and consumer are refused", async () => {
  const task = `import { defineQueue } from "@pgque/client"; export default { queue: defineQueue("same"), handler() {} }`;
  await write("a.js", task);
  await write("b.js", task);
  const { code, err } = await command(["worker", folder], env);
  expect(code).toBe(1);
  expect(err).toContain('got two for queue "same"');
});

test.each([
  ["nowhere", "found: nothing there"],
  ["", "expected files with handlers"],
])("a folder without tasks is wrong usage: %j", async (name, message) => {
  const { code, err } = await command(["worker", path.join(folder, name)], env);
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test("a schema that is not installed is named, with the command that installs it", async () => {
  await write("orders.js", "export default () => {}");
  const { code, err } = await command(["worker", folder, "--schema", "missing"], env);
  expect(code).toBe(1);
  expect(err).toMatch(/schema "missing".*pgque install/s);
});
