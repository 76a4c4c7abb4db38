import { inspect } from "node:util";
import { Pgque, defineQueue } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, silent, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

test("every message is handled once and acked", async () => {
  const queue = await freshQueue(pgque);
  const payloads = Array.from({ length: 500 }, (_, i) => i);
  await pgque.sendMany(queue, payloads.slice(0, 300));
  const handled: unknown[] = [];
  await startWorker(pgque, queue, ({ payload }) => void handled.push(payload));
  await pgque.sendMany(queue, payloads.slice(300));
  await until(() => handled.length >= 500, "all are handled");
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all are acked");
  expect(handled.toSorted((a, b) => Number(a) - Number(b))).toEqual(payloads);
});

test("a worker takes the name of a queue, as `send` does, and refuses what is neither", async () => {
  const queue = await freshQueue(pgque);
  const handled: unknown[] = [];
  const worker = new Worker(pgque, queue.name, ({ payload }) => void handled.push(payload), { log: silent });
  await pgque.send(queue.name, "by name");
  expect((await worker.drain()).done).toBe(1);
  expect([worker.queue, handled]).toEqual([queue.name, ["by name"]]);
  expect(() => new Worker(pgque, 5 as never, () => undefined)).toThrow(
    "new Worker: expected `queue` to be a value of defineQueue, or the name of a queue, got: 5",
  );
});

test("`concurrency` handlers run at once, never more", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(
    queue,
    Array.from({ length: 20 }, (_, i) => i),
  );
  const { open, passed } = gate();
  let running = 0;
  let most = 0;
  let done = 0;
  await startWorker(
    pgque,
    queue,
    async () => {
      running += 1;
      most = Math.max(most, running);
      await passed;
      running -= 1;
      done += 1;
    },
    { concurrency: 7 },
  );
  await until(() => running === 7, "seven handlers run");
  open();
  await until(() => done === 20, "all are handled");
  expect(most).toBe(7);
});

test("workers of one consumer share its messages, each consumer gets all of them", async () => {
  const queue = await freshQueue(pgque);
  await pgque.subscribe(queue, "audit");
  const handled: Record<string, unknown[]> = { default: [], audit: [] };
  for (const consumer of ["default", "default", "audit"]) {
    await startWorker(pgque, queue, ({ payload }) => void handled[consumer]?.push(payload), { consumer });
  }
  const payloads = Array.from({ length: 200 }, (_, i) => i);
  for (const payload of payloads) await pgque.send(queue, payload);
  await until(() => Object.values(handled).every(({ length }) => length >= 200), "both consumers have all");
  for (const list of Object.values(handled)) expect(list.toSorted((a, b) => Number(a) - Number(b))).toEqual(payloads);
});

test("what a handler throws has its message tried again, then made a dead letter with the reason; others go on", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 2 });
  const attempts: number[] = [];
  const handled = new Set<unknown>();
  await startWorker(pgque, queue, ({ payload }, { attempt }) => {
    if (payload !== "bad") return void handled.add(payload);
    attempts.push(attempt);
    throw new Error(`no luck the ${attempt}. time`);
  });
  await pgque.sendMany(queue, ["good 1", "bad", "good 2"]);
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "a dead letter");
  expect(attempts).toEqual([1, 2, 3]);
  expect(handled).toEqual(new Set(["good 1", "good 2"]));
  const { rows } = await pgque.pool.query("select payload, reason, attempt from pgque.dlq_inspect($1)", [queue.name]);
  // what it threw, and where
  const reason = expect.stringMatching(/^no luck the 3\. time\n\s+at .*handling\.test\.ts:\d+/);
  expect(rows).toEqual([{ payload: '"bad"', reason, attempt: 3 }]);
});

test("what is thrown may be anything", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 1 });
  const hidden = {
    [inspect.custom]() {
      throw new Error("nobody may see this");
    },
  };
  const odd = Object.assign(new Error("its stack is a list"), { stack: [] });
  const thrown = [undefined, null, "text", { code: 7 }, new Error(""), new Error("x".repeat(10_000)), hidden, odd];
  await startWorker(pgque, queue, ({ payload, attempt }) => {
    // at once, and later
    if (attempt === 1) throw thrown[Number(payload)];
    return Promise.reject(thrown[Number(payload)]);
  });
  await pgque.sendMany(queue, [...thrown.keys()]);
  await until(async () => (await unfinished(pgque, queue)).dead === thrown.length, "all are dead letters");
  const { rows } = await pgque.pool.query("select reason from pgque.dlq_inspect($1) order by payload", [queue.name]);
  expect(rows.map(({ reason }) => reason.split("\n")[0].slice(0, 20))).toEqual([
    "undefined",
    "null",
    "text",
    "{ code: 7 }",
    "Error",
    "x".repeat(20),
    "the handler failed w",
    "its stack is a list",
  ]);
  expect(rows[5].reason.split("\n")[0]).toHaveLength(2000);
});

test("a payload that does not fit the schema is never handled; its dead letter says where it does not fit", async () => {
  const loose = await freshQueue(pgque, { maxRetries: 0 });
  const strict = defineQueue(loose.name, { payload: z.object({ to: z.object({ name: z.string() }) }) });
  const names: string[] = [];
  await startWorker(pgque, strict, ({ payload }) => void names.push(payload.to.name));
  await pgque.sendMany(loose, [{ to: { name: "Ada" } }, { to: { name: 7 } }]);
  await until(async () => (await unfinished(pgque, loose)).dead === 1, "a dead letter");
  const { rows } = await pgque.pool.query("select reason from pgque.dlq_inspect($1)", [loose.name]);
  expect(rows[0].reason).toContain("to.name");
  expect(names).toEqual(["Ada"]);
});

test("a long handler holds up neither the messages beside it nor their acks", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, ["slow", "quick 1", "quick 2"]);
  const { open, passed } = gate();
  await startWorker(pgque, queue, ({ payload }) => (payload === "slow" ? passed : undefined));
  const settled = async (): Promise<number> => {
    const { rows } = await pgque.pool.query("select id from pgque.queue where name = $1", [queue.name]);
    const { rows: outcomes } = await pgque.pool.query(`select * from pgque.outcome_${rows[0].id}`);
    return outcomes.length;
  };
  await until(async () => (await settled()) > 0, "the quick ones are acked while the slow one runs");
  expect((await unfinished(pgque, queue)).open).toBe(1);
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "the batch is finished");
});

test("a logger that throws ends nothing", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const fail = (): never => {
    throw new Error("disk full");
  };
  let handled = 0;
  await startWorker(
    pgque,
    queue,
    ({ payload }, { log }) => {
      log.info("about to begin");
      if (payload === "bad") throw new Error("no");
      handled += 1;
    },
    { log: { debug: fail, info: fail, warn: fail, error: fail } },
  );
  await pgque.sendMany(queue, ["bad", "good"]);
  await until(() => handled === 1, "the good one is handled");
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "the bad one is a dead letter");
});

test("a delayed message is handled when it is due, however rarely the worker maintains", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, "later", { delayMs: 700 });
  const handled: unknown[] = [];
  await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), { maintainIntervalMs: 3_600_000 });
  await until(() => handled.length > 0, "it is handled");
});

test("a worker refuses an exclusive consumer: it would be given the batch in its hands again", async () => {
  const queue = await freshQueue(pgque);
  await pgque.subscribe(queue, "stream", { mode: "exclusive" });
  await expect(startWorker(pgque, queue, () => undefined, { consumer: "stream" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("consumer 'stream' is exclusive, not shared"),
  });
});

test.each([
  ["exponential, up to the longest", { retryMaxMs: 50 }, [10, 20, 40, 50]],
  ["fixed", { retryBackoff: "fixed" }, [10, 10, 10, 10]],
] as const)("what fails is tried again after a while: %s", async (_, options, expected) => {
  const queue = await freshQueue(pgque, { maxRetries: 4 });
  await pgque.send(queue, "bad");
  const waits: unknown[] = [];
  const warn = (_message: string, fields: Record<string, unknown> = {}): void =>
    void waits.push(fields["retryAfterMs"]);
  const fail = (): never => {
    throw new Error("no");
  };
  await startWorker(pgque, queue, fail, { retryJitter: false, ...options, log: { ...silent, warn } });
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "its attempts are used up");
  expect(waits.slice(0, 4)).toEqual(expected);
});

test("with jitter, the default, what failed together does not come back together", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 1 });
  await pgque.sendMany(
    queue,
    Array.from({ length: 200 }, (_, i) => i),
  );
  const waits: number[] = [];
  // who fails for the second time waits for nothing
  const warn = (_message: string, { dead, retryAfterMs }: Record<string, unknown> = {}): void =>
    void (dead === true || waits.push(Number(retryAfterMs)));
  const fail = (): never => {
    throw new Error("no");
  };
  await startWorker(pgque, queue, fail, { retryMinMs: 1000, retryMaxMs: 1000, log: { ...silent, warn } });
  await until(() => waits.length === 200, "all have failed");
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(500);
  expect(Math.min(...waits)).toBeLessThan(600);
  expect(Math.max(...waits)).toBeGreaterThan(900);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1000);
});

test("a payload that does not fit is logged before its first retry, with path and reason, never with a value; a schema that it fits handles it", async () => {
  const plain = await freshQueue(pgque, { maxRetries: 2 });
  const cards = (wanted: string) =>
    z.object({
      card: z
        .string()
        .refine((card) => card === wanted, { error: ({ input }) => `must be a voucher (was "${String(input)}")` }),
    });
  const { id } = await pgque.send(plain, { card: "4111-1111" });
  const logged: unknown[][] = [];
  const warn = (...line: unknown[]): void => void logged.push(line);
  const old = await startWorker(pgque, defineQueue(plain.name, { payload: cards("voucher") }), () => undefined, {
    log: { ...silent, warn },
    retryJitter: false,
  });
  await until(() => logged.length > 0, "it is logged");
  await old.stop();
  expect(logged[0]).toMatchObject([
    "payload does not fit the queue's schema",
    { message: id, attempt: 1, retryAfterMs: 10, issues: [{ path: "card", message: 'must be a voucher (was "…")' }] },
  ]);
  expect(inspect(logged, { depth: null })).not.toContain("4111");
  const handled: unknown[] = [];
  await startWorker(pgque, defineQueue(plain.name, { payload: cards("4111-1111") }), ({ payload }) => {
    handled.push(payload);
  });
  await until(() => handled.length === 1, "the worker of the next deployment handles it");
});
