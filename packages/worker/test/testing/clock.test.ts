import { Pgque, type Queue } from "@pgque/client";
import { retry, snooze, type WorkerOptions } from "@pgque/worker";
import { runSchedules, manualClock } from "@pgque/worker/testing";
import { afterAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { freshQueue, makeWorker, startWorker } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const [hourMs, dayMs] = [3_600_000, 86_400_000];
const newYear = new Date("2030-01-01T00:00:00Z");

/** What runs have sent, and for when. */
async function runs(queue: Queue): Promise<[unknown, unknown][]> {
  const handled: [unknown, unknown][] = [];
  const worker = makeWorker(pgque, queue, ({ payload, headers }) => void handled.push([payload, headers["run_at"]]), {
    concurrency: 1,
  });
  await worker.drain();
  return handled;
}

describe("a worker's clock says", () => {
  test("how old a message is that failed", async () => {
    const queue = await freshQueue(pgque);
    const clock = manualClock();
    const worker = makeWorker(pgque, queue, () => retryOrThrow(), { clock, maxAgeMs: dayMs, retryMinMs: 0 });
    const retryOrThrow = (): never => {
      throw new Error("no");
    };
    await pgque.send(queue, 1);
    expect(await worker.runOnce()).toMatchObject({ retried: 1, dead: 0 });
    await clock.advance(2 * dayMs);
    expect(await worker.drain({ delayed: true })).toMatchObject({ retried: 0, dead: 1 });
    expect((await pgque.deadLetters.list(queue))[0]?.reason).toMatch(/^older than 86400000 ms when it failed: no/);
  });

  test("in how long the `at` of an outcome comes", async () => {
    const queue = await freshQueue(pgque);
    const clock = manualClock(newYear);
    const at = new Date(newYear.getTime() + hourMs);
    const worker = makeWorker(pgque, queue, ({ payload }) => (payload === 1 ? retry({ at }) : snooze({ at })), {
      clock,
    });
    await pgque.sendMany(queue, [1, 2]);
    await worker.runOnce();
    const now = (await pgque.runtime.now()).getTime();
    const due = (await pgque.messages.peek(queue, { consumer: "default" })).map(({ dueAt }) => dueAt?.getTime() ?? 0);
    expect(due).toHaveLength(2);
    for (const dueAt of due) expect(Math.abs(dueAt - now - hourMs)).toBeLessThan(hourMs / 2);
    await clock.advance(2 * hourMs);
    await pgque.queues.purge(queue);
    await pgque.sendMany(queue, [1, 2]);
    expect((await worker.runOnce()).done).toBe(0);
    expect((await worker.runOnce()).snoozed, "a time that is past means at once").toBe(1);
  });

  test("when schedules are run: each time in its order, however far the clock goes", async () => {
    const queue = await freshQueue(pgque);
    const schedules: WorkerOptions["schedules"] = {
      "new year, daily": { cron: "0 8 * * *", payload: "daily", catchUp: "skip" },
      "new year, half-daily": { cron: "0 6,18 * * *", payload: "half", timeZone: "Europe/Berlin" },
    };
    const clock = manualClock(newYear);
    const worker = await startWorker(pgque, queue, () => undefined, { clock, schedules, consumer: "other" });
    await clock.advance(8 * hourMs - 1);
    expect(await runs(queue)).toEqual([["half", "2030-01-01T05:00:00Z"]]);
    await clock.advance(1);
    expect(await runs(queue)).toEqual([["daily", "2030-01-01T08:00:00Z"]]);
    await clock.advance(dayMs);
    expect(await runs(queue)).toEqual([
      ["half", "2030-01-01T17:00:00Z"],
      ["half", "2030-01-02T05:00:00Z"],
      ["daily", "2030-01-02T08:00:00Z"],
    ]);
    await worker.stop();
    await clock.advance(dayMs);
    expect(await runs(queue)).toEqual([]);
  });

  test("so for schedules that are set, changed or removed while it runs", async () => {
    const queue = await freshQueue(pgque);
    const clock = manualClock(newYear);
    await startWorker(pgque, queue, () => undefined, { clock, consumer: "other" });
    await clock.advance(12 * hourMs);
    await pgque.schedules.set("late", queue, "0 */6 * * *", "six");
    await clock.advance(6 * hourMs);
    expect(await runs(queue)).toEqual([["six", "2030-01-01T18:00:00Z"]]);
    await pgque.schedules.set("late", queue, "0 */12 * * *", "twelve");
    await clock.advance(dayMs);
    expect((await runs(queue)).map(([, at]) => at)).toEqual(["2030-01-02T00:00:00Z", "2030-01-02T12:00:00Z"]);
    await pgque.schedules.remove("late");
    await clock.advance(dayMs);
    expect(await runs(queue)).toEqual([]);
  });

  test("and what it runs is not recorded, so that others run their own", async () => {
    const queue = await freshQueue(pgque);
    const clock = manualClock(newYear);
    const schedules = { unrecorded: { cron: "0 * * * *", payload: 1 } };
    await startWorker(pgque, queue, () => undefined, { clock, schedules, consumer: "other" });
    await clock.advance(3 * hourMs);
    expect(await runs(queue)).toHaveLength(3);
    expect((await pgque.schedules.list(queue))[0]?.lastRunAt).toBeNull();
  });

  test("nothing when it is no clock", () => {
    expect(() => makeWorker(pgque, "q" as never, () => undefined, { clock: { now: () => 0 } as never })).toThrow(
      "expected `clock` to be a clock with now and wait, got: { now: [Function: now] }",
    );
  });
});

describe("runSchedules", () => {
  test("sends what all schedules of the queue send between two times, in their order", async () => {
    const queue = await freshQueue(pgque, { partitions: 16 });
    await pgque.schedules.set("run b", queue, "30 12 * * *", { n: 1 }, { key: "k", headers: { by: "test" } });
    await pgque.schedules.set("run a", queue, "0 */12 * * *", null, { type: "tick" });
    await pgque.schedules.set("run never", queue, "* * * * *", 1, { enabled: false });
    const from = newYear;
    const until = new Date("2030-01-02T00:00:00Z");
    const run = await runSchedules(pgque, queue, { from, until });
    expect(run.map(({ name, runAt }) => [name, runAt.toISOString()])).toEqual([
      ["run a", "2030-01-01T12:00:00.000Z"],
      ["run b", "2030-01-01T12:30:00.000Z"],
      ["run a", "2030-01-02T00:00:00.000Z"],
    ]);
    const sent = await pgque.messages.peek(queue);
    const b = sent.find(({ id }) => id === run[1]?.messageId);
    expect(b).toMatchObject({
      type: "default",
      payload: { n: 1 },
      key: "k",
      headers: { by: "test", schedule: "run b", run_at: "2030-01-01T12:30:00Z" },
    });
    expect(await runSchedules(pgque, queue, { from, until, name: "run b" })).toHaveLength(1);
  });

  test("sends what a scheduled run sends", async () => {
    const queue = await freshQueue(pgque);
    await pgque.schedules.set("alike", queue, "* * * * *", { n: 1 }, { headers: { by: "test" }, type: "t" });
    const at = new Date(Math.floor((await pgque.runtime.now()).getTime() / 60_000) * 60_000);
    await pgque.schedules.run("alike", at);
    await runSchedules(pgque, queue, { from: new Date(at.getTime() - 1), until: at });
    const [run, sent] = await pgque.messages.peek(queue);
    expect(sent).toEqual({ ...run, id: sent?.id, createdAt: sent?.createdAt, position: sent?.position });
  });

  test("says what is wrong", async () => {
    const queue = await freshQueue(pgque);
    await pgque.schedules.set("too many", queue, "* * * * * *", 1);
    const until = new Date(Date.now() + dayMs);
    await expect(runSchedules(pgque, queue, { until })).rejects.toThrow("expected at most 10000 times between");
    await expect(runSchedules(pgque, queue, { until, name: "no" })).rejects.toThrow("got: 'no'");
    await expect(runSchedules(pgque, queue, {} as never)).rejects.toThrow("expected `until` to be a valid Date");
  });
});
