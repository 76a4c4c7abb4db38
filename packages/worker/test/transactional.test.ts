import { Pgque, type MessageOf, type MessageTypes } from "@pgque/client";
import { retry, type HandlerContext } from "@pgque/worker";
import { afterAll, beforeEach, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool({ max: 20 }));
const client = await database.connect();
await client.query("create table public.account (id int, balance int)");
afterAll(() => database.drop());

beforeEach(async () => {
  await client.query("truncate public.account");
});

const rows = async (): Promise<unknown[]> =>
  (await client.query("select * from public.account order by id, balance")).rows;

const book = async ({ tx }: HandlerContext, { payload }: MessageOf<MessageTypes>): Promise<void> => {
  await tx.query("insert into public.account values ($1, 1)", [payload]);
};

test("what the handler writes and the ack commit together", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3]);
  await startWorker(pgque, queue, (message, context) => book(context, message), { transactional: true });
  await until(async () => (await rows()).length === 3 && (await unfinished(pgque, queue)).open === 0, "all are booked");
  expect(await pgque.consumers.list(queue)).toMatchObject([{ depth: 0, inFlight: 0 }]);
});

test("what a handler wrote that fails, or asks for a retry, is rolled back", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2]);
  let calls = 0;
  await startWorker(
    pgque,
    queue,
    async (message, context) => {
      await book(context, message);
      calls += 1;
      if (message.attempt > 1) return undefined;
      if (message.payload === 1) throw new Error("the first time");
      return retry({ afterMs: 0 });
    },
    { transactional: true },
  );
  await until(async () => calls === 4 && (await unfinished(pgque, queue)).open === 0, "both are done");
  expect(await rows()).toEqual([
    { id: 1, balance: 1 },
    { id: 2, balance: 1 },
  ]);
});

test("what it sends goes with its transaction", async () => {
  const queue = await freshQueue(pgque);
  const next = await freshQueue(pgque);
  await pgque.send(queue, 1);
  await startWorker(
    pgque,
    queue,
    async ({ attempt }, { send }) => {
      await send(next, `attempt ${attempt}`);
      if (attempt === 1) throw new Error("the first time");
    },
    { transactional: true },
  );
  await until(async () => (await pgque.messages.peek(next)).length > 0, "something was sent");
  expect((await pgque.messages.peek(next)).map(({ payload }) => payload)).toEqual(["attempt 2"]);
});

test("a handler whose lease was lost rolls back: the work is somebody else's", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 7);
  const { open, passed } = gate();
  let calls = 0;
  await startWorker(
    pgque,
    queue,
    async (message, context) => {
      calls += 1;
      await book(context, message);
      if (calls > 1) return;
      // as if it had been taken for dead
      const found = await pgque.messages.find(queue, message.id);
      await client.query("select pgque.recover_batch($1)", [String(found[0]?.batchId)]);
      await passed;
    },
    { transactional: true, concurrency: 2 },
  );
  await until(() => calls === 2, "it was handed out again");
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0 && (await rows()).length > 0, "it is booked");
  expect(await rows()).toEqual([{ id: 7, balance: 1 }]);
});

test("a handler that goes on after its time limit commits nothing: the message is another's by then", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [7, 8]);
  const { open, passed } = gate();
  let begun = false;
  let ended = false;
  const options = { transactional: true, concurrency: 1, prefetch: 2, timeoutMs: 50 };
  // the second message keeps the batch open, behind the first
  const stuck = await startWorker(
    pgque,
    queue,
    async (message, context) => {
      begun = true;
      await book(context, message);
      await passed;
      ended = true;
    },
    options,
  );
  await until(() => begun, "it has both, and handles the first");
  await startWorker(pgque, queue, (message, context) => book(context, message), options);
  await until(async () => (await rows()).length === 1, "another worker has booked it");
  open();
  await until(() => ended, "the handler has ended");
  await stuck.stop();
  await until(async () => (await rows()).length >= 2, "the second is booked, too");
  expect(await rows()).toEqual([
    { id: 7, balance: 1 },
    { id: 8, balance: 1 },
  ]);
});

test("a handler of batches has one transaction for all of them", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3]);
  let calls = 0;
  await startWorker(
    pgque,
    queue,
    async (messages, { tx }) => {
      calls += 1;
      for (const { payload } of messages)
        await tx.query("insert into public.account values ($1, $2)", [payload, calls]);
      if (calls === 1) throw new Error("the first time");
    },
    { transactional: true, batch: true },
  );
  await until(async () => (await rows()).length === 3 && (await unfinished(pgque, queue)).open === 0, "all are booked");
});

test("outside of a transactional worker there is no transaction, and that is said", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, 1);
  const sent = await freshQueue(pgque);
  await startWorker(pgque, queue, async (_, context) => {
    await context.send(sent, "sent at once");
    void context.tx;
  });
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "a dead letter");
  expect((await pgque.deadLetters.list(queue))[0]?.reason).toContain(
    "expected a transactional worker for `context.tx`",
  );
  expect(await pgque.messages.peek(sent)).toHaveLength(1);
});

test("the connection of a handler is given back, in whatever way it ends", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const own = new Pgque(database.pool({ max: 5 }));
  await own.sendMany(queue, [0, 1, 2, 3, 4, 5]);
  await startWorker(
    own,
    queue,
    async ({ payload }, { tx }) => {
      if (payload === 1) throw new Error("fails");
      if (payload === 2) await tx.query("select 1/0");
      if (payload === 3) await tx.query("select pg_terminate_backend(pg_backend_pid())");
      if (payload === 4) return retry({ afterMs: 3_600_000 });
      return undefined;
    },
    { transactional: true, concurrency: 1 },
  );
  await until(async () => (await unfinished(own, queue)).dead === 4, "four are dead letters");
  expect(new Set((await own.deadLetters.list(queue)).map(({ payload }) => payload))).toEqual(new Set([1, 2, 3, 4]));
});
