import { Events } from "#src/events/events";
import { defineQueue, Pgque } from "@pgque/client";
import {
  deadLetter,
  retry,
  snooze,
  UnrecoverableError,
  type Worker,
  type WorkerEventName,
  type WorkerEvents,
} from "@pgque/worker";
import { expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { closedPort, Proxy } from "../../../../test/support/proxy.ts";
import { freshQueue, gate, makeWorker, silent, unfinished } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());

type Told = { [Name in WorkerEventName]: [Name, WorkerEvents[Name]] }[WorkerEventName];

/** Everything that the worker tells of these, in order. */
function listen(worker: Pick<Worker, "on">, ...names: WorkerEventName[]): Told[] {
  const told: Told[] = [];
  for (const name of names) worker.on(name, (data) => void told.push([name, data] as Told));
  return told;
}

const of = <Name extends WorkerEventName>(told: Told[], name: Name): WorkerEvents[Name][] =>
  told.filter(([one]) => one === name).map(([, data]) => data as WorkerEvents[Name]);

test("a worker tells of a message from its receive to its settling", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  const told = listen(
    worker,
    "started",
    "received",
    "handlerStarted",
    "done",
    "handlerFinished",
    "settled",
    "stopping",
    "stopped",
  );
  const { id } = await pgque.send(queue, "x", { type: "greeting" });
  await worker.start();
  await until(() => of(told, "settled").length > 0, "the message is settled");
  await worker.stop();
  const names = told.filter(([name, data]) => name !== "received" || data.count > 0);
  expect(names).toEqual([
    ["started", {}],
    ["received", { count: 1 }],
    ["handlerStarted", { messages: [expect.objectContaining({ id, type: "greeting" })] }],
    ["done", { message: expect.objectContaining({ id, payload: "x" }), durationMs: expect.any(Number) }],
    ["handlerFinished", { messages: [expect.objectContaining({ id })], durationMs: expect.any(Number) }],
    ["settled", { batchId: expect.stringMatching(/^\d+$/), count: 1, isFinished: true }],
    ["stopping", { running: 0, held: 0 }],
    ["stopped", { openBatches: 0 }],
  ]);
});

test("what becomes of a message that is not done is told with the reason", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 1 });
  const thrown = new Error("no luck");
  const hopeless = new UnrecoverableError("no such order");
  const worker = makeWorker(
    pgque,
    queue,
    ({ payload, attempt }) => {
      if (payload === "throws" && attempt === 1) throw thrown;
      if (payload === "hopeless") throw hopeless;
      if (payload === "later" && attempt === 1) return retry({ afterMs: 7 }, "busy");
      if (payload === "buried") return deadLetter("not wanted");
      return undefined;
    },
    { retryBackoff: "fixed", retryJitter: false, retryMinMs: 5 },
  );
  const told = listen(worker, "done", "failed", "deadLettered");
  await pgque.sendMany(queue, ["throws", "hopeless", "later", "buried"]);
  await worker.start();
  await until(() => of(told, "done").length === 2, "two are done the second time");
  const failed = Object.fromEntries(of(told, "failed").map((data) => [data.message.payload, data]));
  expect(failed).toEqual({
    throws: expect.objectContaining({
      error: thrown,
      outcome: expect.objectContaining({ kind: "retry", afterMs: 5 }),
      message: expect.objectContaining({ attempt: 1 }),
    }),
    hopeless: expect.objectContaining({ error: hopeless, outcome: expect.objectContaining({ kind: "dead" }) }),
    later: expect.objectContaining({ error: undefined, outcome: { kind: "retry", afterMs: 7, reason: "busy" } }),
    buried: expect.objectContaining({ error: undefined, outcome: { kind: "dead", reason: "not wanted" } }),
  });
  const dead = of(told, "deadLettered").map(({ message, error }) => [message.payload, error]);
  expect(new Map(dead as [string, unknown][])).toEqual(
    new Map<string, unknown>([
      ["hopeless", hopeless],
      ["buried", undefined],
    ]),
  );
});

test("snoozed messages, types without a handler and payloads that do not fit are told", async () => {
  const loose = await freshQueue(pgque, { maxRetries: 0 });
  const strict = defineQueue(loose.name, { types: { mail: z.object({ to: z.string() }) } });
  const worker = makeWorker(pgque, strict, {
    mail: ({ attempt }) => (attempt === 1 ? snooze({ afterMs: 60_000 }) : undefined),
  });
  const told = listen(worker, "snoozed", "unknownType", "invalid", "failed");
  await pgque.send(loose, { to: "ada" }, { type: "mail" });
  await pgque.send(loose, { to: 7 }, { type: "mail" });
  await pgque.send(loose, 1, { type: "fax" });
  await worker.start();
  await until(() => of(told, "failed").length === 2 && of(told, "snoozed").length === 1, "all three are told");
  expect(of(told, "snoozed")[0]).toMatchObject({ message: { payload: { to: "ada" } }, afterMs: 60_000 });
  expect(of(told, "invalid")).toMatchObject([{ message: { payload: { to: 7 } }, error: { code: "PAYLOAD_INVALID" } }]);
  expect(of(told, "unknownType")).toMatchObject([{ message: { type: "fax" } }]);
});

test("a batch is one call: what became of each of its messages is told of each", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3]);
  const worker = makeWorker(
    pgque,
    queue,
    (messages) => messages.map(({ payload }) => (payload === 2 ? snooze({ afterMs: 60_000 }) : undefined)),
    { batch: true },
  );
  const told = listen(worker, "handlerStarted", "done", "snoozed", "settled");
  await worker.start();
  await until(() => of(told, "settled").length > 0, "the batch is settled");
  expect(of(told, "handlerStarted").map(({ messages }) => messages.length)).toEqual([3]);
  expect(of(told, "done").map(({ message }) => message.payload)).toEqual([1, 3]);
  expect(of(told, "snoozed").map(({ message }) => message.payload)).toEqual([2]);
  expect(of(told, "settled")).toMatchObject([{ count: 3, isFinished: true }]);
});

test("what a stop gives back is told as released, and a transaction's ack as settled", async () => {
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2, 3]);
  const { open, passed } = gate();
  const worker = makeWorker(pgque, queue, () => passed, { concurrency: 1, prefetch: 3, transactional: true });
  const told = listen(worker, "handlerStarted", "done", "released", "settled", "stopping");
  await worker.start();
  await until(() => of(told, "handlerStarted").length === 1, "the first is begun");
  const stopped = worker.stop();
  open();
  await stopped;
  expect(of(told, "stopping")).toEqual([{ running: 1, held: 3 }]);
  expect([of(told, "done"), of(told, "released")].map((list) => list.map(({ message }) => message.payload))).toEqual([
    [1],
    [2, 3],
  ]);
  expect(of(told, "settled")).toMatchObject([
    { count: 1, isFinished: false },
    { count: 2, isFinished: true },
  ]);
});

test("a handler that takes longer than its time limit failed once, whatever it comes to", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const { open, passed } = gate();
  const worker = makeWorker(pgque, queue, () => passed, { timeoutMs: 1 });
  const told = listen(worker, "failed", "done", "handlerFinished");
  await pgque.send(queue, 1);
  await worker.start();
  await until(() => of(told, "failed").length === 1, "its time is over");
  open();
  await until(() => of(told, "handlerFinished").length === 1, "the handler is over");
  expect(told.map(([name]) => name)).toEqual(["failed", "handlerFinished"]);
  expect(of(told, "failed")[0]?.error).toMatchObject({ name: "TimeoutError" });
});

test("a batch that was taken away is told as a lost lease, not as settled", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, async ({ batchId, attempt }) => {
    // settled by somebody else
    if (attempt === 1) await pgque.settle(batchId);
  });
  const told = listen(worker, "leaseLost", "settled");
  await pgque.sendMany(queue, [1]);
  await worker.start();
  await until(() => told.length > 0, "the worker is told");
  expect(told).toEqual([["leaseLost", { batchId: expect.stringMatching(/^\d+$/), count: 1 }]]);
});

test("a listener that throws or rejects, or is asked to listen no more, ends nothing; its failure is logged", async () => {
  const queue = await freshQueue(pgque);
  const logged: unknown[] = [];
  const error = (message: string, fields?: Record<string, unknown>): void => void logged.push([message, fields]);
  const worker = makeWorker(pgque, queue, () => undefined, { log: { ...silent, error } });
  const [bang, late] = [new Error("bang"), new Error("late")];
  let calls = 0;
  const removed = (): void => void (calls += 1);
  worker
    .on("done", () => {
      throw bang;
    })
    .on("done", async () => {
      throw late;
    })
    .on("done", removed)
    .off("done", removed)
    .off("failed", removed);
  const told = listen(worker, "done");
  await pgque.send(queue, 1);
  await worker.start();
  await until(async () => told.length === 1 && (await unfinished(pgque, queue)).open === 0, "it is done and settled");
  const about = { queue: queue.name, consumer: "default", worker: worker.name, event: "done" };
  expect(logged).toEqual([
    ["a listener failed", { ...about, error: bang }],
    ["a listener failed", { ...about, error: late }],
  ]);
  expect(calls).toBe(0);
});

test("names are checked by the compiler, and so is what comes with them; without a listener no data is made", async () => {
  const worker = makeWorker(pgque, await freshQueue(pgque), () => undefined);
  // @ts-expect-error there is no such name
  expect(() => worker.on("finished", () => undefined)).toThrow("got: finished");
  // @ts-expect-error a message that is done has no error
  worker.on("done", ({ error }) => error);
  worker.on("scheduleRun", ({ at }) => at.getTime());

  const events = new Events(silent);
  const made = (): never => {
    throw new Error("made for nobody");
  };
  events.emit("done", made);
  const removed = (): void => undefined;
  events.on("done", removed);
  events.off("done", removed);
  events.emit("done", made);
  expect(events.isSilent).toBe(true);
});

test("a lost database is told once of each part, and its return", async () => {
  const { port } = new URL(database.url);
  await using proxy = await Proxy.start(Number(port));
  await using client = new Pgque(proxy.through(database.url), { retryForMs: 0 });
  const queue = await freshQueue(client);
  await using worker = makeWorker(client, queue, () => undefined);
  const told = listen(worker, "databaseLost", "databaseRecovered");
  await worker.start();
  await until(() => worker.health().receivedAt !== null, "it has received");
  proxy.target = closedPort;
  proxy.cut();
  await until(() => of(told, "databaseLost").some(({ part }) => part === "receiving"), "it is told of the loss");
  proxy.target = Number(port);
  await until(() => of(told, "databaseRecovered").some(({ part }) => part === "receiving"), "it is told of the return");
  const receiving = told.filter(([, data]) => (data as { part: string }).part === "receiving");
  expect(receiving).toEqual([
    ["databaseLost", { part: "receiving", error: expect.any(Error) }],
    ["databaseRecovered", { part: "receiving", lostForMs: expect.any(Number) }],
  ]);
});

test.each([
  [true, "listening"],
  [false, "polling"],
] as const)("with `listen: %s` a worker with nothing to do is %s", async (listens, expected) => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined, { listen: listens });
  const told = listen(worker, "listening", "polling");
  await worker.start();
  await until(() => told.at(-1)?.[0] === expected, `it is ${expected}`);
});

test("a schedule that is run is told by the worker that sent", async () => {
  const queue = await freshQueue(pgque);
  const schedules = { pulse: { cron: "* * * * * *", payload: 1 } };
  const worker = makeWorker(pgque, queue, () => undefined, { schedules });
  const told = listen(worker, "scheduleRun", "done");
  await worker.start();
  const doneIds = (): unknown[] => of(told, "done").map(({ message }) => message.id);
  // the message may be done before the answer to the one that ran it is here
  await until(
    () => of(told, "scheduleRun").some(({ messageId }) => doneIds().includes(messageId)),
    "its message is done",
  );
  expect(of(told, "scheduleRun")[0]).toEqual({
    schedule: "pulse",
    at: expect.any(Date),
    messageId: expect.stringMatching(/^\d+$/),
  });
  await pgque.schedules.remove("pulse");
});

test("a listener of once is called for one event, and can be removed before it", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  const heard: string[] = [];
  const removed = (): unknown => heard.push("removed");
  worker.once("stopped", () => heard.push("once"));
  worker.once("stopped", removed).off("stopped", removed);
  for (let round = 0; round < 2; round++) {
    await worker.start();
    await worker.stop();
  }
  expect(heard).toEqual(["once"]);
});

test("events of one name are an async iterator that ends when the worker has stopped", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  const done = worker.events("done");
  const stopped = worker.events("stopped");
  await pgque.sendMany(queue, [1, 2, 3]);
  await worker.start();
  const payloads: unknown[] = [];
  for await (const { message } of done) {
    payloads.push(message.payload);
    if (payloads.length === 3) void worker.stop();
  }
  expect(payloads).toEqual([1, 2, 3]);
  const last: unknown[] = [];
  for await (const data of stopped) last.push(data);
  expect(last).toEqual([{ openBatches: 0 }]);
});

test("leaving the loop over events, or aborting its signal, removes its listener", async () => {
  const events = new Events(silent);
  const over = new AbortController();
  const aborted = events.iterate("polling", over.signal).next();
  over.abort();
  await expect(aborted).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
  const iterator = events.iterate("scheduleRun");
  expect(events.isSilent).toBe(false);
  await iterator.return?.();
  expect(events.isSilent).toBe(true);
});

test("an event that no worker has is refused, with those that it has", async () => {
  const worker = makeWorker(pgque, await freshQueue(pgque), () => undefined);
  for (const name of ["done ", "error", "constructor", undefined] as never[]) {
    for (const call of [
      () => worker.on(name, () => undefined),
      () => worker.once(name, () => undefined),
      () => worker.off(name, () => undefined),
      () => worker.events(name),
    ]) {
      expect(call).toThrow(/^expected an event of a worker, started, stopping, .+ scheduleRun, got: /);
    }
  }
});
