import { Pgque } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const stateOf = async (queue: { name: string }, id: string): Promise<string[]> =>
  (await pgque.messages.find(queue.name, id)).map(({ state }) => state);

/** Ends when its signal is aborted, with that reason as its failure. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });

for (const transactional of [false, true])
  test(`a handler${transactional ? " in a transaction" : ""} whose message is cancelled is aborted, and the message does not come again`, async () => {
    const queue = await freshQueue(pgque, { allowCancel: true });
    const { id } = await pgque.send(queue, "long");
    const calls: number[] = [];
    const cancelled: string[] = [];
    const worker = await startWorker(
      pgque,
      queue,
      async (_message, { attempt, signal }) => {
        calls.push(attempt);
        await untilAborted(signal);
      },
      { transactional },
    );
    worker.on("cancelled", ({ message }) => cancelled.push(message.id));
    await until(() => calls.length === 1, "the handler runs");
    await until(async () => {
      // told once more where the worker did not listen yet
      const [answer] = await pgque.cancel(queue, id);
      return answer?.state !== "in_flight";
    }, "the message is settled");
    await until(() => cancelled.length === 1, "the worker says so");
    expect({ calls, state: await stateOf(queue, id) }).toEqual({ calls: [1], state: ["settled"] });
    expect(await unfinished(pgque, queue)).toMatchObject({ dead: 0 });
  });

test("a handler that comes to its end nevertheless has handled its message", async () => {
  const queue = await freshQueue(pgque, { allowCancel: true });
  const { id } = await pgque.send(queue, "long");
  let isBegun = false;
  let isAborted = false;
  const done: string[] = [];
  const worker = await startWorker(pgque, queue, async (_message, { signal }) => {
    isBegun = true;
    await untilAborted(signal).catch(() => undefined);
    isAborted = true;
  });
  worker.on("done", ({ message }) => done.push(message.id));
  await until(() => isBegun, "the handler runs");
  await until(async () => {
    await pgque.cancel(queue, id);
    return isAborted;
  }, "it is aborted");
  await until(() => done.length === 1, "it is done");
});

test("a message that waits in the worker is not handled, and the others are", async () => {
  const queue = await freshQueue(pgque, { allowCancel: true });
  const sent = await pgque.sendMany(queue, ["first", "second", "third"]);
  const handled: unknown[] = [];
  const events: unknown[] = [];
  const worker = await startWorker(
    pgque,
    queue,
    async ({ payload }, { signal }) => {
      handled.push(payload);
      if (payload === "first") await untilAborted(signal);
    },
    { concurrency: 1, prefetch: 10 },
  );
  worker.on("cancelled", ({ message }) => events.push(message.payload));
  await until(() => handled.length === 1, "the first is handled");
  // a message that is cancelled twice is told twice: the worker does not listen from its first moment on
  await until(async () => {
    await pgque.cancel(queue, [sent[0]!.id, sent[1]!.id]);
    return events.length > 0;
  }, "the first is aborted");
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all is settled");
  expect({ handled, events }).toEqual({ handled: ["first", "third"], events: ["first", "second"] });
});

test("a consumer is not told of another's, nor a worker of messages that it does not have", async () => {
  const queue = await freshQueue(pgque, { allowCancel: true });
  await pgque.subscribe(queue, "other");
  const { id } = await pgque.send(queue, "long");
  const calls: string[] = [];
  const aborted: string[] = [];
  const ends: (() => void)[] = [];
  for (const consumer of ["default", "other"])
    await startWorker(
      pgque,
      queue,
      async (_message, { signal }) => {
        calls.push(consumer);
        signal.addEventListener("abort", () => aborted.push(consumer));
        await new Promise<void>((resolve) => {
          ends.push(resolve);
          signal.addEventListener("abort", () => resolve());
        });
      },
      { consumer },
    );
  await until(() => calls.length === 2, "both handle it");
  await until(async () => {
    await pgque.cancel(queue, id, { consumer: "other" });
    return aborted.length > 0;
  }, "one is told");
  await pgque.pool.query("select pg_notify($1, '{\"cancel\": 7, \"consumer\": null}'), pg_notify($1, '{')", [
    `pgque_${queue.name}`,
  ]);
  expect(aborted).toEqual(["other"]);
  for (const end of ends) end();
});
