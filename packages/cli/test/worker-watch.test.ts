import { defineQueue } from "@pgque/client";
import { expect, test } from "vitest";
import { freshCli } from "./support/cli.ts";
import { TaskFolder } from "./support/task-folder.ts";

const { client, start } = await freshCli();

test("--watch runs handlers as they are in the folder, and the old ones while a file does not load", async () => {
  const folder = await TaskFolder.create({
    "_greet.ts": 'export const greet = (name: unknown) => console.log("hello " + name);',
    "watched.ts":
      'import { greet } from "./_greet.ts"; export default ({ payload }: { payload: unknown }) => greet(payload);',
  });
  const queue = defineQueue("watched");
  await client.ensure(queue);
  const worker = start("worker", folder.path, "--watch");
  await worker.says('"msg":"watching"');
  await client.send(queue, "Ada");
  await worker.says("hello Ada");

  // what a task imports is read again too
  await folder.write("_greet.ts", 'export const greet = (name: unknown) => console.log("good day " + name);');
  await worker.says('"msg":"reloaded"');
  await worker.says('"msg":"worker stopped"');
  await client.send(queue, "Grace");
  await worker.says("good day Grace");

  await folder.write("watched.ts", "// nothing yet\nexport default (");
  await worker.says("could not reload, the handlers from before go on");
  await worker.says("watched.ts:2");
  await client.send(queue, "Barbara");
  await worker.says("good day Barbara");

  // a queue more
  await folder.write("watched.ts", "export default () => console.log('fixed');");
  await folder.write("another.js", "export default ({ payload }) => console.log('another ' + payload);");
  await worker.says('"queues":["another","watched"]');
  await client.send(defineQueue("another"), 7);
  await worker.says("another 7");
  worker.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
});

test("a handler that runs finishes beside those that take its place", async () => {
  const folder = await TaskFolder.create({
    "lasting.js": `export default ({ payload }) => new Promise((resolve) => {
      console.log("begun " + payload);
      process.on("SIGUSR2", () => { console.log("finished " + payload); resolve(); });
    });`,
  });
  const queue = defineQueue("lasting");
  await client.ensure(queue);
  const worker = start("worker", folder.path, "--watch");
  await worker.says('"msg":"watching"');
  await client.send(queue, 1);
  await worker.says("begun 1");
  await folder.write("lasting.js", "export default ({ payload }) => console.log('quick ' + payload);");
  await worker.says('"msg":"reloaded"');
  await client.send(queue, 2);
  await worker.says("quick 2");
  worker.kill("SIGUSR2");
  await worker.says("finished 1");
  worker.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  expect(await client.deadLetters.list(queue)).toEqual([]);
});
