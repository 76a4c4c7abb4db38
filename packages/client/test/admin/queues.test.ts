import { expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { until } from "../../../../test/support/until.ts";
import { failure, freshClient } from "../support/client.ts";

const { database, pgque } = await freshClient();
const orders = defineQueue("ордера ✓", { maxRetries: 3, priorities: 10 });
await pgque.ensure(orders);
await pgque.subscribe(orders, "mail", { maxInFlight: 7 });

test("queues are listed with what can be seen of them at a glance", async () => {
  await pgque.sendMany(orders, [1, 2, 3]);
  await pgque.send(orders, 4, { delayMs: 3_600_000 });
  const [status, ...others] = await pgque.queues.list();
  expect(others).toEqual([]);
  expect(status).toMatchObject({ name: orders.name, consumers: 1, currentSegment: 0, delayed: 1, deadLetters: 0 });
  expect(status?.bytes).toBeGreaterThan(0);
  expect(status?.sentPerSecond).toBeGreaterThan(0);
  expect(status?.rotatedAt).toBeInstanceOf(Date);
  expect((await pgque.queues.status(orders)).name).toBe(orders.name);
  expect((await failure(pgque.queues.status("none"))).code).toBe("QUEUE_NOT_FOUND");
});

test("its segments say what keeps their space", async () => {
  const segments = await pgque.queues.segments(orders);
  expect(segments.filter((segment) => segment.isCurrent)).toEqual([
    { segment: 0, isCurrent: true, bytes: expect.any(Number), waitsFor: null },
  ]);
});

test("who holds a lock of it for long is listed", async () => {
  expect(await pgque.queues.heldLocks({ longerThanMs: 0 })).toEqual([]);
  const session = await database.connect();
  await session.query(
    "set application_name = 'stuck'; begin; select pg_advisory_xact_lock(pgque.lock_key('maintain', 1))",
  );
  await until(async () => (await pgque.queues.heldLocks({ queue: orders, longerThanMs: 1 })).length > 0, "a while");
  expect(await pgque.queues.heldLocks({ longerThanMs: 0 })).toEqual([
    {
      purpose: "maintain",
      queue: orders.name,
      consumer: null,
      pid: expect.any(Number),
      preparedTransaction: null,
      role: expect.any(String),
      applicationName: "stuck",
      since: expect.any(Date),
      waiting: 0,
    },
  ]);
  expect(await pgque.queues.heldLocks()).toEqual([]);
  await session.query("rollback");
  expect((await failure(pgque.queues.heldLocks({ queue: "none" }))).code).toBe("QUEUE_NOT_FOUND");
  expect((await failure(pgque.queues.heldLocks({ longerThanMs: -1 }))).code).toBe("INVALID_OPTION");
});

test("depth and lag are those of a consumer", async () => {
  const [consumer] = await pgque.consumers.list(orders);
  expect(consumer).toMatchObject({
    queue: orders.name,
    name: "mail",
    depth: 3,
    inFlight: 0,
    paused: false,
    receivedAt: null,
  });
  expect(consumer?.oldestAt).toBeInstanceOf(Date);
  expect(consumer?.lagMs).toBeGreaterThanOrEqual(0);
  const batch = await pgque.receive(orders, { consumer: "mail", max: 2 });
  const [after] = await pgque.consumers.list();
  expect(after).toMatchObject({ depth: 1, inFlight: 2, openBatches: 1, receivedAt: expect.any(Date) });
  await batch.release();
  await pgque.consumers.purge(orders, "mail");
  expect(await pgque.consumers.list(orders)).toMatchObject([{ depth: 0, oldestAt: null, lagMs: null }]);
});

test("settings are read as they were given, and changed one by one", async () => {
  expect(await pgque.queues.settings(orders)).toEqual({
    maxRetries: 3,
    maxCrashes: 3,
    rotationBytes: 67_108_864,
    rotationPeriodMs: 600_000,
    rotationMinIntervalMs: 30_000,
    retentionMs: 0,
    maxLagMs: null,
    maxLagAction: "warn",
    payloadBytesMax: 1_048_576,
    notify: true,
    partitions: null,
    priorities: 10,
    lowPriorityEvery: null,
    allowExpiry: false,
    allowCancel: false,
  });
  expect(await pgque.queues.change(orders, { retentionMs: 86_400_000, lowPriorityEvery: 5, maxLagMs: 1000 })).toBe(
    true,
  );
  expect(await pgque.queues.change(orders, { lowPriorityEvery: 5 })).toBe(false);
  expect(await pgque.queues.change(orders, { maxLagMs: null, lowPriorityEvery: null })).toBe(true);
  expect(await pgque.queues.settings(orders)).toMatchObject({
    maxRetries: 3,
    retentionMs: 86_400_000,
    lowPriorityEvery: null,
    maxLagMs: null,
  });
});

test("what cannot be changed is refused, all of it at once, and nothing is changed", async () => {
  const error = await failure(pgque.queues.change(orders, { partitions: 2, priorities: 9, maxRetries: 9 }));
  expect(error.code).toBe("INVALID_ARGUMENT");
  expect(error.message).toMatch(/was created without partitions/);
  expect(error.message).toMatch(/expected priorities .* to be 10 or more, got: 9/);
  expect((await pgque.queues.settings(orders)).maxRetries).toBe(3);
  const options = await failure(pgque.queues.change(orders, { partitions: 0, retries: 1, notify: 7 } as never));
  expect(options.code).toBe("INVALID_OPTION");
  expect(options.details.problems).toHaveLength(3);
});

test("a consumer's limits are changed, and taken away", async () => {
  expect(await pgque.consumers.change(orders, "mail", { maxInFlight: 1, rateLimit: 5, ratePeriodMs: 60_000 })).toBe(
    true,
  );
  expect(await pgque.consumers.settings(orders)).toContainEqual({
    queue: orders.name,
    name: "mail",
    mode: "shared",
    onFailure: null,
    maxInFlight: 1,
    maxInFlightPerKey: null,
    rateLimit: 5,
    ratePeriodMs: 60_000,
    paused: false,
    createdAt: expect.any(Date),
  });
  await pgque.sendMany(orders, [1, 2]);
  expect((await pgque.receive(orders, { consumer: "mail" })).messages).toHaveLength(1);
  expect((await pgque.receive(orders, { consumer: "mail" })).messages).toHaveLength(0);
  expect(await pgque.consumers.change(orders, "mail", { maxInFlight: null, rateLimit: null })).toBe(true);
  expect((await pgque.receive(orders, { consumer: "mail" })).messages).toHaveLength(1);
  expect((await failure(pgque.consumers.change(orders, "nobody", { maxInFlight: 1 }))).code).toBe("CONSUMER_NOT_FOUND");
  expect((await failure(pgque.consumers.change(orders, "mail", { maxInFlight: 0 }))).code).toBe("INVALID_OPTION");
});

test("what waits is delivered before its time: all of it, by a time, the earliest, a consumer's", async () => {
  const q = defineQueue("impatient");
  await pgque.ensure(q);
  for (const consumer of ["default", "other"]) await pgque.subscribe(q, consumer);
  const payloads = async () => {
    await using batch = await pgque.receive(q);
    const found = batch.messages.map(({ payload }) => payload);
    await batch.ack();
    return found;
  };
  const hourMs = 3_600_000;
  for (const hours of [4, 1, 3, 2]) await pgque.send(q, hours, { delayMs: hours * hourMs });
  expect(await pgque.queues.deliverDelayed(q, { until: new Date() })).toBe(0);
  expect(await pgque.queues.deliverDelayed(q, { withinMs: 0, consumer: "other" })).toBe(1);
  expect(await payloads()).toEqual([1]);
  const soon = new Date((await pgque.runtime.now()).getTime() + 3 * hourMs);
  expect(await pgque.queues.deliverDelayed(q, { until: soon })).toBe(2);
  expect(await payloads()).toEqual([2, 3]);
  expect(await pgque.queues.deliverDelayed(q)).toBe(1);
  expect((await failure(pgque.queues.deliverDelayed(q, { consumer: "nobody" }))).code).toBe("CONSUMER_NOT_FOUND");
  const wrong = await failure(pgque.queues.deliverDelayed(q, { until: new Date("x"), withinMs: -1 }));
  expect(wrong.details.problems).toHaveLength(2);
  expect(await pgque.runtime.maxRetries(q)).toBe(20);
  await pgque.queues.drop(q, { force: true });
});

test("a queue with consumers is dropped by force alone", async () => {
  const error = await failure(pgque.queues.drop(orders));
  expect([error.code, error.message]).toEqual(["INVALID_ARGUMENT", expect.stringContaining("consumers")]);
  expect(await pgque.queues.drop(orders, { force: true })).toBe(true);
  expect((await failure(pgque.send(orders, 1))).code).toBe("QUEUE_NOT_FOUND");
  expect(await pgque.queues.list()).toEqual([]);
});

test("workers that are alive are listed", async () => {
  expect(await pgque.runtime.workers()).toEqual([]);
  await pgque.runtime.heartbeat("w", 60_000);
  const [worker] = await pgque.runtime.workers();
  expect(worker?.worker).toBe("w");
  expect(worker?.aliveUntil.getTime()).toBeGreaterThan(Date.now());
});
