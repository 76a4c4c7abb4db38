import { stripVTControlCharacters } from "node:util";
import { defineQueue } from "@pgque/client";
import { expect, test } from "vitest";
import { freshCli, jsonLines } from "./support/cli.ts";
import { TaskFolder } from "./support/task-folder.ts";
import { Terminal } from "./support/terminal.ts";

const { client, database, run } = await freshCli();

/** A folder whose handler logs, and a message for it. */
async function talking(queue: string): Promise<TaskFolder> {
  await client.ensure(defineQueue(queue));
  await client.subscribe(defineQueue(queue), "default");
  await client.send(defineQueue(queue), 1);
  const code = `export default (message, { log }) => {
    log.debug("whispered");
    log.info("talked to postgres://app:secret@db/app", {
      big: 2n ** 60n,
      deep: { url: "postgres://app:secret@db/app?password=secret", mail: "a@b" },
      error: new Error("no postgres://app:secret@db/app", { cause: new Error("why") }),
    });
  };`;
  return TaskFolder.create({ [`${queue}.js`]: code });
}

test("a line is JSON with level, time, queue and message; ids are strings, and passwords are left out", async () => {
  const folder = await talking("json");
  const { out } = await run("worker", folder.path, "--once");
  expect(out).not.toContain("secret");
  expect(out).not.toContain("whispered");
  const lines: Record<string, unknown>[] = jsonLines(out);
  expect(lines.find(({ msg }) => String(msg).startsWith("talked"))).toMatchObject({
    level: "info",
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    msg: "talked to postgres://app:****@db/app",
    queue: "json",
    consumer: "default",
    attempt: 1,
    big: "1152921504606846976",
    deep: { mail: "a@b" },
    error: {
      type: "Error",
      message: expect.stringContaining("because: why"),
      stack: expect.stringContaining("json.js"),
    },
  });
});

test("--log-level debug says what handlers whisper, and warn not even that a worker worked", async () => {
  const [more, less] = [await talking("more"), await talking("less")];
  expect((await run("worker", more.path, "--once", "--log-level", "debug")).out).toContain("whispered");
  expect((await run("worker", less.path, "--once", "--log-level", "warn")).out).toBe("");
});

test("at a terminal a line is for people", async () => {
  const folder = await talking("pretty");
  const terminal = new Terminal(["worker", folder.path, "--once"], { DATABASE_URL: database.url });
  expect(await terminal.ended).toBe(0);
  const shown = stripVTControlCharacters(terminal.output);
  expect(shown).toMatch(/INFO.*: talked to postgres:\/\/app:\*\*\*\*@db\/app/);
  expect(shown).not.toContain('{"level"');
});

test.each(["json", "pretty"])("a handler's words do nothing to a terminal: %s", async (format) => {
  const queue = defineQueue(`hostile-${format}`, { maxRetries: 0 });
  await client.ensure(queue);
  await client.subscribe(queue, "default");
  await client.send(queue, 1);
  const code = String.raw`export default (message, { log }) => {
    const words = "\u009b31m\u001b]0;x\u0007\u202e";
    log.info(words, { words, deep: { words } });
    throw new Error(words);
  };`;
  const folder = await TaskFolder.create({ [`hostile-${format}.js`]: code });
  const { out } = await run("worker", folder.path, "--once", "--log-format", format);
  expect(out).toContain(String.raw`\u202e`);
  // eslint-disable-next-line no-control-regex
  expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/);
});
