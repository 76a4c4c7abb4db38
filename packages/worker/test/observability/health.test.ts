import { Pgque } from "@pgque/client";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { closedPort, Proxy } from "../../../../test/support/proxy.ts";
import { freshQueue, gate, makeWorker, silent } from "../support/worker.ts";
import { Watch } from "#src/health/watch";
import { healthOf } from "#src/health/health";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());

test("the state follows start and stop, and only a running worker is ready", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  const seen: unknown[] = [];
  const look = (): void => {
    const { state, isLive, isReady, reasons } = worker.health();
    seen.push([state, isLive, isReady, reasons]);
  };
  look();
  const started = worker.start();
  look();
  await started;
  look();
  const stopped = worker.stop();
  look();
  await stopped;
  look();
  await worker.start();
  look();
  expect(seen).toEqual([
    ["idle", true, false, ["it has not been started, or failed to start"]],
    ["starting", true, false, ["it is starting"]],
    ["running", true, true, []],
    ["stopping", true, false, ["it is stopping"]],
    ["stopped", true, false, ["it has been stopped"]],
    ["running", true, true, []],
  ]);
});

test("a worker that is started while it stops is starting, and one that failed to start is idle", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined);
  await worker.start();
  const stopped = worker.stop();
  const started = worker.start();
  await stopped;
  expect(worker.health().state).toBe("starting");
  await started;
  expect(worker.health().state).toBe("running");

  const refused = makeWorker(pgque, queue, () => undefined, { consumer: "default", mode: "ordered" });
  await expect(refused.start()).rejects.toThrow();
  expect(refused.health().state).toBe("idle");
});

test("it says what is in hand, as JSON", async () => {
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  const worker = makeWorker(pgque, queue, () => passed, { concurrency: 1, prefetch: 3, heartbeatIntervalMs: 100 });
  await pgque.sendMany(queue, [1, 2, 3]);
  await worker.start();
  await until(() => worker.health().heartbeatAt !== null && worker.health().held === 3, "it has three in hand");
  const health = worker.health();
  expect(JSON.parse(JSON.stringify(health))).toEqual(health);
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  expect(health).toEqual({
    worker: worker.name,
    queue: queue.name,
    consumer: "default",
    state: "running",
    isLive: true,
    isReady: true,
    reasons: [],
    failing: [],
    receivedAt: time,
    heartbeatAt: time,
    waiting: health.waiting,
    running: 1,
    oldestRunningMs: expect.any(Number),
    held: 3,
    openBatches: 1,
    unsettledBatches: 0,
  });
  open();
  await until(() => worker.health().openBatches === 0 && worker.health().waiting === "listening", "all is done");
  expect(worker.health()).toMatchObject({ running: 0, oldestRunningMs: null, held: 0 });
});

test("a database that is lost for a while makes it not ready, with the reason, and never not live", async () => {
  const { port } = new URL(database.url);
  await using proxy = await Proxy.start(Number(port));
  await using client = new Pgque(proxy.through(database.url), { retryForMs: 0 });
  const queue = await freshQueue(client);
  await using worker = makeWorker(client, queue, () => undefined);
  await worker.start();
  proxy.target = closedPort;
  proxy.cut();
  await until(() => worker.health().failing.some(({ part }) => part === "receiving"), "it has lost the database");
  expect(worker.health({ lostAfterMs: 86_400_000 })).toMatchObject({ isLive: true, isReady: true, reasons: [] });
  const lost = worker.health({ lostAfterMs: 0 });
  expect(lost).toMatchObject({ isLive: true, isReady: false });
  expect(lost.reasons.join()).toMatch(/receiving has had no good answer from the database for \d+ s: /);
  proxy.target = Number(port);
  await until(() => worker.health({ lostAfterMs: 0 }).isReady, "it is ready again");
});

test("a loop that ends though nobody stopped it makes it not live, and for good", async () => {
  const logged: string[] = [];
  const watch = new Watch({ ...silent, error: (message) => void logged.push(message) });
  const stopping = new AbortController();
  await watch.loop("receiving", Promise.reject(new Error("a bug")), stopping.signal);
  expect(logged).toEqual(["receiving has ended, the worker has to be started anew"]);
  const health = healthOf({ worker: "w", queue: "q", consumer: "c" }, "running", undefined, watch, {});
  expect(health).toMatchObject({ isLive: false, isReady: false, reasons: ["receiving has ended: a bug"] });

  const orderly = new Watch(silent);
  stopping.abort();
  await orderly.loop("receiving", Promise.resolve(), stopping.signal);
  expect(healthOf({ worker: "w", queue: "q", consumer: "c" }, "running", undefined, orderly, {}).isLive).toBe(true);
});

test("an option that is wrong is refused", async () => {
  const worker = makeWorker(pgque, await freshQueue(pgque), () => undefined);
  expect(() => worker.health({ lostAfterMs: -1 })).toThrow(
    "expected `lostAfterMs` to be a number from 0 to 86400000, got: -1",
  );
});

test("a worker that was stopped while the database was lost has nothing that fails", async () => {
  const queue = await freshQueue(pgque);
  const worker = makeWorker(pgque, queue, () => undefined, { pollMaxMs: 25 });
  await worker.start();
  await pgque.pool.query("alter schema pgque rename to away");
  await until(() => worker.health().failing.length > 0, "something is not answered");
  await worker.stop();
  const { state, failing } = worker.health();
  await pgque.pool.query("alter schema away rename to pgque");
  expect([state, failing]).toEqual(["stopped", []]);
});
