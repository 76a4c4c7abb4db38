import { defineQueue, Pgque } from "@pgque/client";
import type { Fields } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { freshQueue, makeWorker, silent, startWorker } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

function warnings() {
  const lines: { message: string; fields: Fields | undefined }[] = [];
  const warn = (message: string, fields?: Fields): void => void lines.push({ message, fields });
  return { lines, log: { ...silent, warn } };
}

test("a worker that starts and finds other options warns once, and names them with both values", async () => {
  const { name } = await freshQueue(pgque, { partitions: 16, maxRetries: 7, maxLagMs: 60_000 });
  await pgque.subscribe(name, "ordered", { mode: "ordered", onFailure: "skip" });
  const { lines, log } = warnings();
  const definition = defineQueue(name, { maxRetries: 3, maxLagMs: 60_000, retentionMs: 5, partitions: 16 });
  const options = { consumer: "ordered", mode: "ordered", onFailure: "block", log } as const;
  const worker = makeWorker(pgque, definition, () => undefined, options);
  await worker.start();
  await worker.stop();
  await worker.start();
  await worker.runOnce();
  await worker.stop();
  expect(lines).toEqual([
    {
      message: expect.stringContaining("the database has other options than the definition, and keeps them"),
      fields: {
        queue: name,
        consumer: "ordered",
        worker: worker.name,
        differences: "maxRetries is 7, not 3; retentionMs is 0, not 5; onFailure is skip, not block",
      },
    },
  ]);
  expect(await pgque.queues.settings(name)).toMatchObject({ maxRetries: 7, retentionMs: 0 });
});

test("a worker that names no options says nothing of those that are not the default", async () => {
  const { name } = await freshQueue(pgque, { partitions: 16, maxRetries: 7 });
  await pgque.subscribe(name, "ordered", { mode: "ordered", onFailure: "skip" });
  const { lines, log } = warnings();
  await startWorker(pgque, defineQueue(name), () => undefined, { consumer: "ordered", mode: "ordered", log });
  expect(lines).toEqual([]);
});

test("a worker whose new consumer begins behind a backlog says how many messages it skips, and what brings them", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3]);
  const { lines, log } = warnings();
  const worker = await startWorker(pgque, queue, () => undefined, { consumer: "late", log });
  expect(lines).toMatchObject([
    {
      message: expect.stringContaining('`pgque.consumers.seek(queue, consumer, "earliest")`'),
      fields: { skipped: "3" },
    },
  ]);
  await worker.stop();
  await worker.start();
  expect(lines).toHaveLength(1);
});

test("of a long backlog it counts 10,000 and no more; one that skips nothing says nothing", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(
    queue,
    Array.from({ length: 10_001 }, (_, i) => i),
  );
  const { lines, log } = warnings();
  await startWorker(pgque, queue, () => undefined, { consumer: "late", log });
  expect(lines).toMatchObject([{ fields: { skipped: "more than 10,000" } }]);
  await pgque.subscribe(queue, "whole", { from: "earliest" });
  const quiet = warnings();
  await startWorker(pgque, queue, () => undefined, { consumer: "whole", log: quiet.log });
  await startWorker(pgque, defineQueue("new"), () => undefined, { log: quiet.log });
  expect(quiet.lines).toEqual([]);
});
