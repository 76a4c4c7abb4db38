import { setTimeout as pause } from "node:timers/promises";
import { defineQueue, Pgque } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { Proxy } from "../../../test/support/proxy.ts";
import { Running } from "./support/pgque.ts";
import { TaskFolder } from "./support/task-folder.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

/** Signals closer together than this are one: see src/signals.ts. */
const sameSignalMs = 1000;

test("a second signal ends a worker whose transactional handler waits on a connection that has gone silent", async () => {
  await using proxy = await Proxy.start(Number(new URL(database.url).port));
  const queue = defineQueue("silent");
  await pgque.ensure(queue);
  await pgque.subscribe(queue);
  await pgque.send(queue, 1);
  const folder = await TaskFolder.create({
    "silent.js": `export default { transactional: true, async handler(_, { tx }) {
      console.log("begun");
      await new Promise((resolve) => process.once("SIGUSR2", resolve));
      await Promise.all([tx.query("select 1"), console.log("asked")]);
    } };`,
  });
  const worker = new Running(["worker", folder.path], { DATABASE_URL: proxy.through(database.url) });
  await worker.says("begun");
  proxy.goDumb({ serverKnows: true });
  worker.kill("SIGUSR2");
  await worker.says("asked");
  worker.kill("SIGTERM");
  await worker.says("stopping");
  await pause(sameSignalMs + 100);
  worker.kill("SIGTERM");
  expect((await worker.ended).code).toBe(1);
});

test("transactional tasks have a connection for each handler, by default too", async () => {
  const next = defineQueue("crowd-next");
  await pgque.ensure(next);
  const crowd = defineQueue("crowd", { maxRetries: 0 });
  await pgque.ensure(crowd);
  await pgque.subscribe(crowd);
  await pgque.sendMany(
    crowd,
    Array.from({ length: 20 }, (_, i) => i),
  );
  const folder = await TaskFolder.create({
    // all of them run at once, or none comes to its end
    "crowd.js": `let running = 0;
    const waiting = [];
    export default { transactional: true, async handler(_, { send }) {
      running += 1;
      if (running % 10 === 0) for (const go of waiting.splice(0)) go();
      else await new Promise((go) => waiting.push(go));
      await send("crowd-next", running);
    } };`,
  });
  const { code } = await new Running(["worker", folder.path, "--once"], { DATABASE_URL: database.url }).ended;
  expect([code, (await pgque.messages.peek(next, { max: 100 })).length]).toEqual([0, 20]);
});
