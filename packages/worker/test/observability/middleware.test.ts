import { AsyncLocalStorage } from "node:async_hooks";
import { Pgque } from "@pgque/client";
import { done, type Middleware, retry, snooze } from "@pgque/worker";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, silent, startWorker, unfinished } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());

const finished = (queue: Parameters<typeof unfinished>[1]) => async (): Promise<boolean> =>
  (await unfinished(pgque, queue)).open === 0;

test("middleware runs around each call, the first outermost, with what it keeps in an AsyncLocalStorage", async () => {
  const queue = await freshQueue(pgque);
  const steps: string[] = [];
  const tenants = new AsyncLocalStorage<unknown>();
  const named =
    (name: string): Middleware =>
    async (messages, _context, next) => {
      steps.push(`${name} begins ${messages.length}`);
      const handled = await next();
      steps.push(`${name} ends`);
      return handled;
    };
  const tenant: Middleware = ([message], _context, next) => tenants.run(message?.headers["tenant"], next);
  await pgque.send(queue, 1, { headers: { tenant: "a" } });
  await startWorker(pgque, queue, () => void steps.push(`handled for ${String(tenants.getStore())}`), {
    middleware: [named("outer"), tenant, named("inner")],
  });
  await until(() => steps.includes("outer ends"), "the message is handled");
  expect(steps).toEqual(["outer begins 1", "inner begins 1", "handled for a", "inner ends", "outer ends"]);
});

test("what middleware returns is the outcome: of an error it makes what it likes, and it need not call the handler", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const handled: unknown[] = [];
  const forgiving: Middleware = async ([message], { log }, next) => {
    log.debug("about to");
    if (message?.payload === "skip") return done();
    try {
      return await next();
    } catch (error) {
      if (message?.attempt === 1 && (error as Error).message === "busy") return snooze({ afterMs: 0 });
      throw error;
    }
  };
  let isBusy = true;
  await startWorker(
    pgque,
    queue,
    ({ payload }) => {
      handled.push(payload);
      if (payload === "busy" && isBusy) {
        isBusy = false;
        throw new Error("busy");
      }
      if (payload === "bad") throw new Error("bad");
    },
    { middleware: [forgiving], concurrency: 1 },
  );
  await pgque.sendMany(queue, ["skip", "busy", "bad"]);
  await until(async () => handled.length === 3 && (await finished(queue)()), "all are settled");
  expect(handled.map(String).toSorted((a, b) => a.localeCompare(b))).toEqual(["bad", "busy", "busy"]);
  const dead = await pgque.deadLetters.list(queue);
  expect(dead.map(({ payload, reason }) => [payload, reason?.split("\n")[0]])).toEqual([["bad", "bad"]]);
});

test("around a handler of batches it is given all messages, and may say what became of each", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const sizes: number[] = [];
  await pgque.sendMany(queue, [1, 2, 3]);
  const worker = makeWorker(pgque, queue, () => undefined, {
    batch: true,
    middleware: [
      async (messages, _context, next) => {
        sizes.push(messages.length);
        await next();
        return messages.map(({ payload }) => (payload === 2 ? retry({ afterMs: 0 }, "by middleware") : undefined));
      },
    ],
  });
  await worker.start();
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "one is a dead letter");
  expect(sizes).toEqual([3]);
  expect((await pgque.deadLetters.list(queue)).map(({ payload, reason }) => [payload, reason])).toEqual([
    [2, "by middleware"],
  ]);
});

test("around a transactional handler it is inside the transaction, which it can make roll back", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.pool.query("create table public.note (text text)");
  const noting: Middleware = async ([message], { tx }, next) => {
    await tx.query("insert into public.note values ($1)", [`about ${String(message?.payload)}`]);
    const handled = await next();
    if (message?.payload === "bad") throw new Error("on second thoughts");
    return handled;
  };
  await pgque.sendMany(queue, ["good", "bad"]);
  await startWorker(
    pgque,
    queue,
    async ({ payload }, { tx }) => void (await tx.query("insert into public.note values ($1)", [payload])),
    {
      transactional: true,
      middleware: [noting],
    },
  );
  await until(async () => (await unfinished(pgque, queue)).dead === 1 && (await finished(queue)()), "both are settled");
  const { rows } = await pgque.pool.query("select text from public.note order by text");
  expect(rows).toEqual([{ text: "about good" }, { text: "good" }]);
});

test("to call `next()` twice fails the call", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  let calls = 0;
  await pgque.send(queue, 1);
  const twice: Middleware = async (_messages, _context, next) => {
    await next();
    return next();
  };
  await startWorker(pgque, queue, () => void (calls += 1), { middleware: [twice] });
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "it is a dead letter");
  const [dead] = await pgque.deadLetters.list(queue);
  expect([calls, dead?.reason]).toEqual([1, expect.stringContaining("call `next()` once")]);
});

test.each<[string, Middleware, string]>([
  ["neither calls `next()` nor returns anything", (() => undefined) as never, "it did neither"],
  [
    "calls `next()` and does not wait for a handler that fails",
    ((_messages: unknown, _context: unknown, next: () => unknown) => void next()) as never,
    "no luck",
  ],
])("middleware that %s acks nothing", async (_what, middleware, reason) => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, 1);
  const handle = async (): Promise<void> => {
    await pgque.pool.query("select");
    throw new Error("no luck");
  };
  await makeWorker(pgque, queue, handle, { middleware: [middleware] }).drain();
  const [dead] = await pgque.deadLetters.list(queue);
  expect(dead?.reason).toContain(reason);
});

test("a handler that middleware does not wait for is over before its call is, and is called no later", async () => {
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  const steps: string[] = [];
  const said: string[] = [];
  let late: Promise<unknown> | undefined;
  const hasty: Middleware = ([message], _context, next) => {
    const afterwards = async (): Promise<unknown> => {
      await passed;
      return next();
    };
    if (message?.payload === "late") late = afterwards();
    else next().catch(() => undefined);
    steps.push("middleware");
    return done();
  };
  const handle = async ({ payload }: { payload: unknown }): Promise<void> => {
    await pgque.pool.query("select");
    steps.push(String(payload));
  };
  const log = { ...silent, error: (what: string) => void said.push(what) };
  const worker = makeWorker(pgque, queue, handle, { middleware: [hasty], log });
  worker.on("done", () => void steps.push("done"));
  for (const payload of ["at once", "late"]) {
    await pgque.send(queue, payload);
    await worker.drain();
  }
  open();
  await expect(late).rejects.toThrow(/to call `next\(\)` before it returns, it did so later/);
  expect(steps).toEqual(["middleware", "at once", "done", "middleware", "done"]);
  expect(said).toHaveLength(1);
});

test("what is not a list of functions is refused", () => {
  expect(() => makeWorker(pgque, "q" as never, () => undefined, { middleware: [7 as never] })).toThrow(
    /expected `middleware` to be an array of functions, got: \[ 7 \]/,
  );
});

test("its types want an outcome: to forget what `next()` gave is an error of the compiler", () => {
  // @ts-expect-error nothing is returned, which would ack whatever the handler said
  const forgetful: Middleware = async (_messages, _context, next) => {
    await next();
  };
  expect(forgetful).toBeInstanceOf(Function);
});
