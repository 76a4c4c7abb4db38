import { Pgque, defineQueue } from "@pgque/client";
import { deadLetter, done, type HandlerOutcome, retry, snooze, UnrecoverableError, Worker } from "@pgque/worker";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

describe("what a handler returns", () => {
  test("is done when it is nothing, done(), or anything else", async () => {
    const queue = await freshQueue(pgque);
    let handled = 0;
    await startWorker(pgque, queue, ({ payload }) => {
      handled += 1;
      // JavaScript lets pass what does not compile
      return [undefined, done(), { kind: "retry" }, "retry"][Number(payload)] as undefined;
    });
    await pgque.sendMany(queue, [0, 1, 2, 3]);
    await until(async () => handled === 4 && (await unfinished(pgque, queue)).open === 0, "all are acked");
    expect(await pgque.consumers.list(queue)).toMatchObject([{ depth: 0, inFlight: 0 }]);
    expect((await pgque.queues.status(queue)).delayed).toBe(0);
  });

  test("is tried again at its time, one attempt further", async () => {
    const queue = await freshQueue(pgque);
    const attempts: number[] = [];
    await startWorker(pgque, queue, ({ attempt }) => {
      attempts.push(attempt);
      return attempt === 1 ? retry({ afterMs: 0 }) : attempt === 2 ? retry({ at: new Date(0) }) : undefined;
    });
    await pgque.send(queue, 1);
    await until(() => attempts.length === 3, "it came three times");
    expect(attempts).toEqual([1, 2, 3]);
  });

  test("is snoozed without using an attempt", async () => {
    const queue = await freshQueue(pgque, { maxRetries: 0 });
    const attempts: number[] = [];
    await startWorker(pgque, queue, ({ attempt }) => {
      attempts.push(attempt);
      return attempts.length < 4 ? snooze({ afterMs: 1 }) : undefined;
    });
    await pgque.send(queue, 1);
    await until(async () => attempts.length === 4 && (await unfinished(pgque, queue)).open === 0, "it is done");
    expect(attempts).toEqual([1, 1, 1, 1]);
    expect((await unfinished(pgque, queue)).dead).toBe(0);
  });

  test("is a dead letter whatever the reason is, which JavaScript may make no text", async () => {
    const queue = await freshQueue(pgque);
    const reasons = [{ status: 402 }, new Error("declined"), undefined];
    await startWorker(pgque, queue, ({ payload }) => deadLetter(reasons[Number(payload)] as never));
    await pgque.sendMany(queue, [...reasons.keys()]);
    await until(async () => (await unfinished(pgque, queue)).dead === reasons.length, "all are dead letters");
    const letters = await pgque.deadLetters.list(queue);
    expect(
      letters.toSorted((x, y) => Number(x.payload) - Number(y.payload)).map(({ reason }) => reason?.split("\n")[0]),
    ).toEqual(["{ status: 402 }", "declined", "undefined"]);
  });

  test("is a dead letter at once, as is what throws an UnrecoverableError", async () => {
    const queue = await freshQueue(pgque);
    let calls = 0;
    await startWorker(pgque, queue, ({ payload }) => {
      calls += 1;
      if (payload === "returns") return deadLetter("no such customer");
      throw new UnrecoverableError("no such order");
    });
    await pgque.sendMany(queue, ["returns", "throws"]);
    await until(async () => (await unfinished(pgque, queue)).dead === 2, "two dead letters");
    const letters = await pgque.deadLetters.list(queue);
    expect(new Map(letters.map(({ payload, reason }) => [payload, reason]))).toEqual(
      new Map([
        ["returns", "no such customer"],
        ["throws", expect.stringMatching(/^no such order\n\s+at /)],
      ]),
    );
    expect([calls, letters.map(({ attempt }) => attempt)]).toEqual([2, [1, 1]]);
  });

  test.for<[string, () => unknown]>([
    ["nothing", () => retry({} as never)],
    ["a negative time", () => snooze({ afterMs: -1 })],
    ["both", () => retry({ afterMs: 1, at: new Date() } as never)],
    ["an invalid date", () => snooze({ at: new Date("x") })],
  ])("refuses %s for when", ([, call]) => {
    expect(call).toThrow(/expected `afterMs` from 0 to \d+ or a valid Date `at`, got: /);
  });
});

describe("a handler for each type", () => {
  const events = defineQueue("events", {
    types: { created: z.object({ id: z.number() }), paid: z.object({ id: z.number(), by: z.string() }) },
  });

  test("is given the messages of its type, typed", async () => {
    await pgque.ensure(events);
    await pgque.subscribe(events);
    const handled: unknown[] = [];
    await using worker = new Worker(pgque, events, {
      created: ({ payload }) => void handled.push(["created", payload.id]),
      paid: ({ payload }) => void handled.push(["paid", payload.by]),
    });
    await worker.start();
    await pgque.send(events, { id: 1 }, { type: "created" });
    await pgque.send(events, { id: 1, by: "card" }, { type: "paid" });
    await until(() => handled.length === 2, "both are handled");
    expect(new Set(handled)).toEqual(
      new Set([
        ["created", 1],
        ["paid", "card"],
      ]),
    );
  });

  test.for(["retry", "ack", "deadLetter"] as const)("has a policy for others: %s", async (unknownType) => {
    const queue = await freshQueue(pgque, { maxRetries: 1 });
    await pgque.send(queue, "no handler", { type: "refunded" });
    await pgque.send(queue, "handled", { type: "paid" });
    let handled = 0;
    await startWorker(pgque, queue, { paid: () => void (handled += 1) }, { unknownType });
    await until(async () => {
      const { open, dead } = await unfinished(pgque, queue);
      const { delayed } = await pgque.queues.status(queue);
      return handled === 1 && open === 0 && delayed === 0 && dead === (unknownType === "ack" ? 0 : 1);
    }, "both are settled");
    const [letter] = await pgque.deadLetters.list(queue);
    expect(letter?.attempt).toBe({ retry: 2, ack: undefined, deadLetter: 1 }[unknownType]);
    if (letter) expect(letter.reason).toBe('no handler for messages of type "refunded"');
  });

  test("has the same policy for a type that the queue does not name", async () => {
    await pgque.send("events", { id: 1 }, { type: "refunded" });
    await startWorker(pgque, events, { created: () => undefined }, { unknownType: "deadLetter" });
    await until(async () => (await unfinished(pgque, events)).dead === 1, "a dead letter");
  });
});

describe("a handler of batches", () => {
  test("takes what was received together, and says what became of each", async () => {
    const queue = await freshQueue(pgque, { maxRetries: 1 });
    await pgque.sendMany(queue, ["a", "b", "c", "d"]);
    const calls: unknown[][] = [];
    await startWorker(
      pgque,
      queue,
      (messages) => {
        calls.push(messages.map(({ payload }) => payload));
        return messages.map(({ payload }) =>
          payload === "b"
            ? deadLetter("bad")
            : payload === "c" && calls.length === 1
              ? retry({ afterMs: 0 })
              : undefined,
        );
      },
      { batch: true, batchSize: 10 },
    );
    await until(async () => calls.length >= 2 && (await unfinished(pgque, queue)).open === 0, "all are settled");
    expect(calls).toEqual([["a", "b", "c", "d"], ["c"]]);
    expect((await pgque.deadLetters.list(queue)).map(({ payload }) => payload)).toEqual(["b"]);
  });

  test("that throws has all of them tried again", async () => {
    const queue = await freshQueue(pgque);
    await pgque.sendMany(queue, [1, 2]);
    const attempts: number[] = [];
    await startWorker(
      pgque,
      queue,
      (messages) => {
        attempts.push(...messages.map(({ attempt }) => attempt));
        if (attempts.length <= 2) throw new Error("the first time");
      },
      { batch: true },
    );
    await until(() => attempts.length >= 4, "both came again");
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2]);
  });

  test("runs as often at once as `concurrency` says", async () => {
    const queue = await freshQueue(pgque);
    await pgque.sendMany(queue, [1, 2, 3, 4, 5, 6]);
    const { open, passed } = gate();
    const sizes: number[] = [];
    await startWorker(
      pgque,
      queue,
      async (messages) => {
        sizes.push(messages.length);
        await passed;
      },
      { batch: true, batchSize: 2, concurrency: 2 },
    );
    await until(() => sizes.length === 2, "two calls run");
    open();
    await until(() => sizes.length === 3, "the third, too");
    expect(sizes).toEqual([2, 2, 2]);
  });
});

describe("a time limit", () => {
  test("aborts the signal, and the message is tried again", async () => {
    const queue = await freshQueue(pgque);
    const reasons: unknown[] = [];
    await startWorker(
      pgque,
      queue,
      async (_, { signal, attempt }) => {
        if (attempt > 1) return;
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason.name);
            reject(signal.reason);
          });
        });
      },
      { timeoutMs: 50 },
    );
    await pgque.send(queue, 1);
    await until(async () => reasons.length === 1 && (await unfinished(pgque, queue)).open === 0, "it is done");
    expect(reasons).toEqual(["TimeoutError"]);
  });

  test("gives the message of a handler that does not heed it to another, and keeps the handler's place", async () => {
    const queue = await freshQueue(pgque);
    const { open, passed } = gate();
    const attempts: number[] = [];
    await startWorker(
      pgque,
      queue,
      async (_, { attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) await passed;
      },
      { timeoutMs: 50, concurrency: 2 },
    );
    await pgque.send(queue, 1);
    await until(() => attempts.length === 2, "the second attempt runs beside the first");
    open();
    expect(attempts).toEqual([1, 2]);
  });

  test("of a batch gives each of its messages what it is due by its own age", async () => {
    const queue = await freshQueue(pgque);
    await pgque.sendMany(queue, ["old", "new"]);
    const { rows } = await pgque.pool.query("select id from pgque.queue where name = $1", [queue.name]);
    await pgque.pool.query(
      `update pgque.message_${rows[0].id} set created_at = now() - interval '1 day' where payload = '"old"'`,
    );
    const { open, passed } = gate();
    const handled: unknown[] = [];
    await startWorker(
      pgque,
      queue,
      async (messages) => {
        handled.push(messages.map(({ payload, attempt }) => `${String(payload)} ${attempt}`));
        if (handled.length === 1) await passed;
      },
      { batch: true, timeoutMs: 50, maxAgeMs: 3_600_000, concurrency: 2 },
    );
    await until(() => handled.length === 2, "what is left is tried again");
    expect(handled).toEqual([["old 1", "new 1"], ["new 2"]]);
    expect((await pgque.deadLetters.list(queue)).map(({ payload }) => payload)).toEqual(["old"]);
    open();
  });
});

describe("retries", () => {
  test("wait as long as a function says, which is given the attempt, the error and the message", async () => {
    const queue = await freshQueue(pgque);
    const given: unknown[] = [];
    await startWorker(
      pgque,
      queue,
      ({ attempt }) => {
        if (attempt < 3) throw new Error(`no ${attempt}`);
      },
      {
        retryBackoff: (attempt, error, { payload }) => {
          given.push([attempt, error instanceof Error && error.message, payload]);
          return 0;
        },
      },
    );
    await pgque.send(queue, "it");
    await until(async () => given.length === 2 && (await unfinished(pgque, queue)).open === 0, "it is done");
    expect(given).toEqual([
      [1, "no 1", "it"],
      [2, "no 2", "it"],
    ]);
  });

  test("wait `retryMaxMs` when that function fails or says nonsense", async () => {
    const queue = await freshQueue(pgque);
    let calls = 0;
    let errors = 0;
    await startWorker(
      pgque,
      queue,
      () => {
        calls += 1;
        if (calls < 3) throw new Error("again");
      },
      {
        retryMaxMs: 10,
        retryBackoff: () => {
          if (calls === 1) throw new Error("no idea");
          return Number.NaN;
        },
        log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => void (errors += 1) },
      },
    );
    await pgque.send(queue, 1);
    await until(() => calls === 3, "it was tried again");
    expect(errors).toBe(2);
  });

  test("end with the age of the message", async () => {
    const queue = await freshQueue(pgque);
    await pgque.pool.query("select pgque.send($1, '1')", [queue.name]);
    let calls = 0;
    await startWorker(
      pgque,
      queue,
      () => {
        calls += 1;
        throw new Error("never");
      },
      { maxAgeMs: 1 },
    );
    await until(async () => (await unfinished(pgque, queue)).dead === 1, "a dead letter");
    expect((await pgque.deadLetters.list(queue))[0]?.reason).toMatch(/^older than 1 ms when it failed: never/);
    expect(calls).toBeLessThan(6);
  });
});

test("what a handler throws may be a revoked Proxy: its message fails, in a transaction or not, and the worker goes on", async () => {
  for (const transactional of [false, true]) {
    const queue = await freshQueue(pgque, { maxRetries: 0 });
    await pgque.sendMany(queue, ["thrown", "rejected", "returned", "good"]);
    const handled: unknown[] = [];
    await startWorker(
      pgque,
      queue,
      ({ payload }) => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        handled.push(payload);
        // oxlint-disable-next-line no-throw-literal
        if (payload === "thrown") throw proxy;
        if (payload === "rejected") return Promise.reject(proxy);
        return payload === "returned" ? (proxy as HandlerOutcome) : undefined;
      },
      { transactional },
    );
    await until(async () => (await unfinished(pgque, queue)).dead === 3, "all but the good one are dead letters");
    await until(async () => (await unfinished(pgque, queue)).open === 0, "the good one is done");
    expect(handled).toHaveLength(4);
  }
});
