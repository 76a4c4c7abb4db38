import { Pgque } from "@pgque/client";
import { deadLetter } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { updatesAndDeletes } from "../../../sql/test/support/statistics.ts";
import { freshQueue, gate, startWorker } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const admin = await database.connect();
afterAll(async () => {
  await pgque.close();
  await database.drop();
});

test("the latest progress of an attempt is seen while its handler runs, and the lines that are kept", async () => {
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  await startWorker(
    pgque,
    queue,
    async (_message, { attempt, log, progress }) => {
      for (let i = 0; i <= 10; i += 1) progress({ done: i, of: 10 });
      for (let i = 0; i < 5; i += 1) log.info(`line ${i}`, { password: "hidden-one", break: "a\nb" });
      log.debug("not kept");
      if (attempt === 1) throw new Error("tried again");
      await passed;
    },
    { keptLogLines: 3 },
  );
  const { id } = await pgque.send(queue, 1);
  const seen = (): ReturnType<typeof pgque.messages.progress> => pgque.messages.progress(queue, id);
  await until(async () => (await seen()).some(({ attempt }) => attempt === 2), "it is written");
  open();
  const reports = await seen();
  const second = reports.filter(({ attempt }) => attempt === 2);
  expect(second.filter(({ kind }) => kind === "progress")).toMatchObject([{ value: { done: 10, of: 10 } }]);
  const lines = second.filter(({ kind }) => kind === "log").map(({ value }) => String(value));
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^pgque info: line 0 /);
  expect(lines.join("")).not.toMatch(/\n|not kept/);
  expect(await updatesAndDeletes(admin)).toEqual([]);
});

test("what a handler reports in its last moment is written when the worker stops", async () => {
  const queue = await freshQueue(pgque);
  const worker = await startWorker(pgque, queue, (_message, { progress }) => {
    progress("begun");
    return deadLetter("enough");
  });
  const { id } = await pgque.send(queue, 1);
  await until(async () => (await pgque.deadLetters.list(queue)).length === 1, "it is handled");
  await worker.stop();
  expect(await pgque.messages.progress(queue, id)).toMatchObject([{ attempt: 1, kind: "progress", value: "begun" }]);
  expect(await pgque.messages.progress(queue, id, { consumer: "other" })).toEqual([]);
});

test("progress that is no JSON or too large fails the handler, which says so", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await startWorker(pgque, queue, ({ payload }, { progress }) => progress(payload === 1 ? 5n : "x".repeat(9000)));
  await pgque.sendMany(queue, [1, 2]);
  await until(async () => (await pgque.deadLetters.list(queue)).length === 2, "both have failed");
  const reasons = (await pgque.deadLetters.list(queue)).map(({ reason }) => reason?.split("\n")[0]);
  expect(new Set(reasons)).toEqual(
    new Set([
      "expected the progress to have at most 8000 bytes as JSON, got: 9002. Keep what is large elsewhere, and say here where",
      "the progress is not JSON: a bigint is not JSON: send it as a string",
    ]),
  );
});
