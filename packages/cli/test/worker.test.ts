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

test("a second signal aborts handlers, releases their messages and ends with exit code 1", async () => {
  await write(
    "forever.js",
    `export default (message, { signal }) => new Promise(() => {
       signal.addEventListener("abort", () => console.log("aborted"));
       console.log("begun");
     });`,
  );
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
  const { code, out, err } = await worker.ended;
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("their messages were released") });
  expect(out).toContain("aborted");
  await pgque.maintain(queue);
  expect((await pgque.receive(queue)).messages).toMatchObject([{ payload: 1, attempt: 1 }]);
});

test("messages of a killed worker are handled by the next one", async () => {
  await write(
    "orders.js",
    `import { existsSync, writeFileSync } from "node:fs";
     const begun = ${JSON.stringify(`${folder} has begun`)};
     export default { leaseMs: 1000, heartbeatIntervalMs: 200, handler: async (message, { attempt }) => {
       if (existsSync(begun)) return console.log("handled at attempt " + attempt);
       writeFileSync(begun, "");
       console.log("begun");
       await new Promise(() => undefined);
     } };`,
  );
  const queue = await emptyQueue("orders");
  await pgque.send(queue, 1);
  const first = new Running(["worker", folder], env);
  await first.says("begun");
  first.kill("SIGKILL");
  await first.ended;
  const second = new Running(["worker", folder], env);
  // a process that ends uses no attempt of its messages
  await second.says("handled at attempt 1");
  second.kill("SIGTERM");
  expect((await second.ended).code).toBe(0);
});

test("sets the schedules of a crontab, and runs them", async () => {
  await write("ticks.js", "export default (message) => console.log(message.headers.schedule, message.payload);");
  await write(
    "crontab",
    '# every second\n* * * * * * ticks ?id=clock&timeZone=Europe/Berlin {"tick": 1}\n@yearly ticks',
  );
  const worker = new Running(["worker", folder, "--crontab", path.join(folder, "crontab")], env);
  await worker.says("clock { tick: 1 }");
  worker.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  expect(await pgque.schedules.list("ticks")).toMatchObject([
    { name: "clock", cron: "* * * * * *", timeZone: "Europe/Berlin" },
    { name: "ticks", cron: "@yearly", payload: {} },
  ]);
  await pgque.schedules.remove("clock");
});

test("a schema that is not installed is named, with the command that installs it", async () => {
  await write("orders.js", "export default () => {}");
  const { code, err } = await command(["worker", folder, "--schema", "missing"], env);
  expect(code).toBe(1);
  expect(err).toMatch(/schema "missing".*pgque install/s);
});
