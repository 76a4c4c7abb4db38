import { Pgque } from "@pgque/client";
import { deadLetter, done, type HandlerContext, type Step } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { updatesAndDeletes } from "../../../sql/test/support/statistics.ts";
import { freshQueue, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const admin = await database.connect();
afterAll(async () => {
  await pgque.close();
  await database.drop();
});

for (const mode of ["shared", "ordered"] as const)
  test(`a step that has returned is not called again when the handler fails after it: ${mode}`, async () => {
    const queue = await freshQueue(pgque, { partitions: 2 });
    if (mode === "ordered") await pgque.unsubscribe(queue);
    const calls: string[] = [];
    const results: unknown[] = [];
    const handle = async ({ payload }: { payload: unknown }, { attempt, step }: HandlerContext): Promise<void> => {
      const charged = await step("charge", () => {
        calls.push(`charge ${attempt}`);
        return { at: new Date(0), of: payload, attempt };
      });
      if (attempt === 1) throw new Error("after the first step");
      const mailed = await step("mail", () => void calls.push(`mail ${attempt}`));
      await step("log", () => {
        calls.push(`log ${attempt}`);
        if (attempt === 2) throw new Error("in a step");
        return null;
      });
      results.push([charged, mailed]);
    };
    await startWorker(pgque, queue, handle, { mode, consumer: "default" });
    const { id } = await pgque.send(queue, 42, { key: "a" });
    await until(() => results.length === 1, "it is handled");
    expect(calls).toEqual(["charge 1", "mail 2", "log 2", "log 3"]);
    expect(results).toEqual([[{ at: "1970-01-01T00:00:00.000Z", of: 42, attempt: 1 }, undefined]]);
    await until(async () => (await unfinished(pgque, queue)).open === 0, "it is settled");
    expect(await pgque.messages.steps(queue, id)).toMatchObject([
      { step: "charge", result: { of: 42 }, storedAt: expect.any(Date) },
      { step: "mail", result: undefined },
      { step: "log", result: null },
    ]);
    expect(await updatesAndDeletes(admin)).toEqual([]);
  });

test("a dead letter that is redriven goes on where it was", async () => {
  const queue = await freshQueue(pgque);
  const calls: string[] = [];
  let isMended = false;
  await startWorker(pgque, queue, async (_message, { step }) => {
    await step("first", () => void calls.push("first"));
    if (!isMended) return deadLetter("not yet");
    await step("second", () => void calls.push("second"));
    return done();
  });
  await pgque.send(queue, 1);
  await until(async () => (await pgque.deadLetters.list(queue)).length === 1, "it is a dead letter");
  isMended = true;
  await pgque.deadLetters.redrive(queue, { all: true });
  await until(() => calls.includes("second"), "it goes on");
  expect(calls).toEqual(["first", "second"]);
});

test("a handler sleeps without an attempt, for as long as it said the first time, and holds no place meanwhile", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const seen: string[] = [];
  const times: number[] = [];
  await startWorker(
    pgque,
    queue,
    async ({ payload }, { attempt, step }) => {
      if (payload === "other") {
        seen.push("other");
        return;
      }
      times.push(performance.now());
      await step("charge", () => void seen.push("charge"));
      // a handler that catches everything sleeps all the same
      await step.sleep("a while", 300).catch(() => undefined);
      if (times.length === 1) return;
      await step.until("the past", new Date(0));
      seen.push(`awake at attempt ${attempt}`);
    },
    { concurrency: 1 },
  );
  await pgque.sendMany(queue, ["sleeper", "other"]);
  await until(() => seen.length === 3, "it is awake again");
  expect(seen).toEqual(["charge", "other", "awake at attempt 1"]);
  expect(Number(times[1]) - Number(times[0])).toBeGreaterThanOrEqual(299);
  expect(await unfinished(pgque, queue)).toMatchObject({ dead: 0 });
});

test("a step of a worker that has lost its message is not stored, and fails", async () => {
  const queue = await freshQueue(pgque);
  const failures: unknown[] = [];
  let free = (): void => undefined;
  const isFree = new Promise<void>((resolve) => (free = resolve));
  const calls: string[] = [];
  const handle = async (_message: unknown, { step, attempt }: HandlerContext): Promise<void> => {
    await step("slow", async () => {
      calls.push("slow");
      if (calls.length === 1) await isFree;
      return attempt;
    }).catch((error: unknown) => {
      failures.push(error);
      throw error;
    });
  };
  await startWorker(pgque, queue, handle);
  const { id } = await pgque.send(queue, 1);
  await until(() => calls.length === 1, "the first has it");
  // as when its lease is taken away
  const [held] = await pgque.messages.find(queue, id);
  await pgque.nack(held?.batchId ?? "", [id], { retryAfterMs: 0 });
  await until(async () => (await pgque.messages.steps(queue, id)).length === 1, "another has done the step");
  free();
  await until(() => failures.length === 1, "the first fails");
  expect(failures).toMatchObject([{ code: "LEASE_LOST" }]);
  expect(calls).toEqual(["slow", "slow"]);
});

test("what is no step is refused in words, and the handler fails with them", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const wrong: Record<string, (step: Step) => Promise<unknown>> = {
    twice: async (step) => {
      await step("a", () => 1);
      await step("a", () => 2);
    },
    unnamed: (step) => step("", () => 1),
    bigint: (step) => step("a", () => 5n),
    large: (step) => step("a", () => "x".repeat(300_000)),
    sleep: async (step) => step.sleep("a", Number.NaN),
    until: async (step) => step.until("a", new Date("nonsense")),
  };
  await startWorker(pgque, queue, async ({ payload }, { step }) => void (await wrong[String(payload)]?.(step)));
  await pgque.sendMany(queue, Object.keys(wrong));
  await until(async () => (await pgque.deadLetters.list(queue)).length === 6, "all have failed");
  const dead = await pgque.deadLetters.list(queue);
  const reasons = Object.fromEntries(dead.map(({ payload, reason }) => [payload, reason?.split("\n")[0]]));
  expect(reasons).toMatchInlineSnapshot(`
    {
      "bigint": "the result of a step is not JSON: a bigint is not JSON: send it as a string",
      "large": "expected the result of a step to have at most 262144 bytes as JSON, got: 300002. Keep what is large elsewhere, and say here where",
      "sleep": "step.sleep: expected milliseconds from 0, got: NaN",
      "twice": "context.step: expected each step to have a name of its own, got 'a' twice",
      "unnamed": "context.step: expected a name of 1 to 200 bytes, got: ''",
      "until": "step.until: expected a valid Date, got: Invalid Date",
    }
  `);
});

test("in a transaction, and of batches, there are no steps", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await startWorker(pgque, queue, async (_message, { step }) => void (await step("a", () => 1)), {
    transactional: true,
  });
  await pgque.send(queue, 1);
  await until(async () => (await pgque.deadLetters.list(queue)).length === 1, "it has failed");
  expect((await pgque.deadLetters.list(queue))[0]?.reason).toContain("expected a worker that is not transactional");
});
