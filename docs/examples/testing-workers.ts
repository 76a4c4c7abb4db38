import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { defineQueue } from "@pgque/client";
import { testPgque } from "@pgque/client/testing";
import { retry, Worker } from "@pgque/worker";
import { runSchedules, manualClock } from "@pgque/worker/testing";
import { z } from "zod";

const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }), maxRetries: 5 });
const reports = defineQueue("reports", { payload: z.object({ day: z.string() }), maxRetries: 3 });

const queues = await testPgque(process.env["DATABASE_URL"]);
const { pgque } = queues;
for (const queue of [orders, reports]) await pgque.ensure(queue);
beforeEach(() => queues.clear());
after(() => queues.drop());

test("an order is charged, and its receipt sent", async () => {
  const charged: number[] = [];
  const worker = new Worker(pgque, orders, async ({ payload }, { send }) => {
    charged.push(payload.orderId); // a number, by type
    await send(reports, { day: "today" });
  });
  await pgque.sendMany(orders, [{ orderId: 1 }, { orderId: 2 }]);
  const { done } = await worker.drain({ throwOnFailure: true }); // a handler that throws fails the test, with its error as the cause
  assert.deepEqual([done, charged.length], [2, 2]);
  assert.equal((await queues.sent(reports)).length, 2);
});

test("a gateway that is down is tried for a day, then the order is given up", async () => {
  const gateway = { calls: 0 };
  const options = { retryMinMs: 3_600_000, retryMaxMs: 86_400_000 };
  const worker = new Worker(
    pgque,
    orders,
    () => {
      gateway.calls += 1;
      if (gateway.calls === 2) return retry({ afterMs: 86_400_000 }, "503");
      throw new Error("no route to host");
    },
    { ...options, log: { ...console, warn: () => undefined } },
  );
  await pgque.send(orders, { orderId: 1 }, { delayMs: 60_000 });
  assert.equal((await worker.runOnce()).done, 0); // not yet
  const { retried, dead, failures } = await worker.drain({ delayed: true }); // all its attempts, without waiting
  assert.deepEqual([gateway.calls, retried, dead, failures.length], [6, 5, 1, 5]);
  const [letter] = await pgque.deadLetters.list(orders);
  assert.match(letter?.reason ?? "", /no route to host/);
});

test("the report of the day is due at eight in Berlin", async () => {
  const clock = manualClock(new Date("2026-03-28T00:00:00Z"));
  const handled: unknown[] = [];
  const worker = new Worker(pgque, reports, ({ headers }) => void handled.push(headers["run_at"]), {
    clock,
    schedules: { daily: { cron: "0 8 * * *", timeZone: "Europe/Berlin", payload: { day: "yesterday" } } },
  });
  await worker.start();
  await clock.advance(2 * 86_400_000); // resolves when all that is due in these two days was run
  await worker.stop();
  await worker.drain();
  // in between clocks change; messages without a key come in any order
  assert.deepEqual(new Set(handled), new Set(["2026-03-28T07:00:00Z", "2026-03-29T06:00:00Z"]));
});

test("a year of reports", async () => {
  const from = new Date("2027-01-01T00:00:00Z");
  const run = await runSchedules(pgque, reports, { from, until: new Date("2028-01-01T00:00:00Z") });
  const { done } = await new Worker(pgque, reports, () => undefined).drain();
  assert.deepEqual([run.length, done], [365, 365]);
});
