import { Pgque } from "@pgque/client";
import { retry, type HandlerContext, type HandlerOutcome } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, makeWorker, silent } from "./support/worker.ts";
import { Attempts } from "#src/execute/attempts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

test("a handler knows its last attempt, and what fails then is told as dead, with what it threw", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 1 });
  const seen: unknown[] = [];
  const lines: unknown[] = [];
  const told: unknown[] = [];
  const thrown = new Error("no luck");
  const handle = ({ payload }: { payload: unknown }, context: HandlerContext): HandlerOutcome => {
    seen.push([context.attempt, context.maxRetries, context.isLastAttempt]);
    if (payload === "throws") throw thrown;
    return retry({ afterMs: 0 }, "busy");
  };
  const log = { ...silent, warn: (_line: string, fields?: { dead?: unknown }) => void lines.push(fields?.dead) };
  const worker = makeWorker(pgque, queue, handle, { log });
  worker.on("failed", ({ outcome }) => void told.push(outcome.kind));
  worker.on("deadLettered", ({ error, reason }) => void told.push(error, reason.split("\n")[0]));
  await worker.start();
  await pgque.send(queue, "throws");
  await until(() => told.length === 4, "it is dead");
  await pgque.send(queue, "asks");
  await until(() => told.length === 8, "so is the other");
  expect(told).toEqual(["retry", "dead", thrown, "no luck", "retry", "dead", undefined, "busy"]);
  expect(seen).toEqual([
    [1, 1, false],
    [2, 1, true],
    [1, 1, false],
    [2, 1, true],
  ]);
  expect(lines).toEqual([undefined, true]);
  const isThere = async (): Promise<boolean> => (await pgque.deadLetters.list(queue)).length === 2;
  await until(isThere, "the database says so, too");
});

test("in a batch each message has its own attempt, and the limit is in the context", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.sendMany(queue, [1, 2]);
  const limits: number[] = [];
  const dead: unknown[] = [];
  const handle = (messages: readonly unknown[], { maxRetries }: { maxRetries: number }) => {
    limits.push(maxRetries);
    return messages.map((_, i) => (i === 0 ? retry({ afterMs: 0 }) : undefined));
  };
  const worker = makeWorker(pgque, queue, handle, { batch: true });
  worker.on("deadLettered", ({ message }) => void dead.push(message.payload));
  await worker.drain();
  expect([limits, dead]).toEqual([[0], [1]]);
});

test("after a change the database decides at once, and whoever asks again knows", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const dead: number[] = [];
  const attempts: number[] = [];
  const worker = makeWorker(pgque, queue, ({ attempt }) => {
    attempts.push(attempt);
    if (attempt === 1) throw new Error("no luck");
  });
  worker.on("deadLettered", ({ message }) => void dead.push(message.attempt));
  await worker.start();
  await pgque.queues.change(queue, { maxRetries: 1 });
  await pgque.send(queue, 1);
  await until(() => attempts.length === 2, "it comes again, though the worker took it for dead");
  expect(dead).toEqual([1]);
  expect(await pgque.deadLetters.list(queue)).toEqual([]);
});

test("it is asked for at intervals until the worker stops, whatever the database says meanwhile", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 3 });
  const stop = new AbortController();
  const failures: string[] = [];
  const log = { ...silent, debug: (line: string) => void failures.push(line) };
  const known = new Attempts();
  await known.read(pgque, queue, 5000, new AbortController().signal);
  const kept = known.keep(pgque, queue, { queryTimeoutMs: 5000, log }, stop.signal, 10);
  await pgque.queues.change(queue, { maxRetries: 7 });
  await until(() => known.maxRetries === 7, "the change is known");
  await pgque.queues.drop(queue, { force: true });
  await until(() => failures.length > 1, "it asks again after a failure");
  expect([
    known.maxRetries,
    known.isLast({ attempt: 7, headers: {} }),
    known.isLast({ attempt: 8, headers: {} }),
  ]).toEqual([7, false, true]);
  stop.abort();
  await kept;
});
