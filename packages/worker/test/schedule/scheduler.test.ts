import { type CatchUp, Pgque, type Queue, type ScheduleOptions } from "@pgque/client";
import { sharedRuns } from "#src/schedule/scheduled-runs";
import { Scheduler } from "#src/schedule/scheduler";
import { afterAll, beforeEach, expect, test } from "vitest";
import { freshDatabase } from "../../../../test/support/database.ts";
import { freshQueue, silent } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
const admin = await database.connect();
afterAll(() => database.drop());

const [never, hourMs] = [new AbortController().signal, 3_600_000];
/** Half past some hour, by the database's clock, and not long ago: what time it is in these tests. */
const halfPast = Math.floor((await pgque.runtime.now()).getTime() / hourMs - 1) * hourMs + hourMs / 2;
const hoursAgo = (hours: number): number => halfPast - hourMs / 2 - hours * hourMs;

let queue: Queue;
let errors: unknown[];
let warnings: unknown[];
let scheduler: Scheduler;
beforeEach(async () => {
  queue = await freshQueue(pgque);
  errors = [];
  warnings = [];
  scheduler = makeScheduler();
});

function makeScheduler(): Scheduler {
  return new Scheduler(
    queue,
    {
      ...silent,
      error: (_, fields) => void errors.push(fields?.["schedule"]),
      warn: (message, fields) => void warnings.push([message, fields?.["schedule"]]),
    },
    sharedRuns(pgque, queue),
  );
}

const round = (nowMs: number, by: Scheduler = scheduler): Promise<number> =>
  by.round(async () => new Date(nowMs), never);

/** Scheduled runs are remembered by the schedule's name: each test has its own. */
const nameOf = (name: string): string => `${name} of ${queue.name}`;

/** A schedule of that name, which has been what it is for ten hours. */
async function schedule(name: string, cron: string, options: ScheduleOptions = {}): Promise<void> {
  await pgque.schedules.set(nameOf(name), queue, cron, name, options);
  const changedAt = new Date(hoursAgo(10) + 1);
  await admin.query("update pgque.schedule set changed_at = $2 where name = $1", [nameOf(name), changedAt]);
}

/** The payloads that were sent since the last call, and for when. */
async function sent(): Promise<[unknown, number][]> {
  await using batch = await pgque.receive(queue, { max: 2000 });
  const found = batch.messages.map(({ payload, headers }): [unknown, number] => [
    payload,
    Date.parse(String(headers["run_at"])),
  ]);
  await batch.ack();
  return found;
}

test("a time is run when it has come, not before, and once", async () => {
  await schedule("hourly", "0 * * * *", { catchUp: "skip" });
  expect(await round(hoursAgo(2) - 1)).toBe(1);
  expect(await sent()).toEqual([]);
  expect(await round(hoursAgo(2))).toBe(0);
  expect(await round(hoursAgo(2))).toBe(hourMs);
  expect(await sent()).toEqual([["hourly", hoursAgo(2)]]);
});

test.each<[CatchUp, number[]]>([
  ["skip", []],
  ["once", [0]],
  [{ all: 3 }, [2, 1, 0]],
  [{ all: 100 }, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
])("of what was missed while no worker ran, %j runs the times of %j hours ago", async (catchUp, hours) => {
  await schedule("hourly", "0 * * * *", { catchUp });
  await round(halfPast);
  const expected = hours.map((ago) => ["hourly", hoursAgo(ago)]);
  expect(await sent()).toEqual(expected);
  expect(await round(halfPast), "nothing is left").toBe(hourMs / 2);
  expect(await round(halfPast, makeScheduler()), "nor for one that starts later").toBe(hourMs / 2);
  expect(await sent()).toEqual([]);
});

test("a worker that starts late makes good what came after the last scheduled run", async () => {
  await schedule("hourly", "0 * * * *", { catchUp: { all: 10 } });
  await round(hoursAgo(3));
  await sent();
  await round(halfPast, makeScheduler());
  expect(await sent()).toEqual([2, 1, 0].map((ago) => ["hourly", hoursAgo(ago)]));
});

test("of four workers that come to the same times one sends", async () => {
  await schedule("hourly", "0 * * * *", { catchUp: { all: 5 } });
  await Promise.all([1, 2, 3, 4].map(() => round(halfPast, makeScheduler())));
  expect(await sent()).toEqual([4, 3, 2, 1, 0].map((ago) => ["hourly", hoursAgo(ago)]));
});

test("to a worker that was halted in a round, what others have run meanwhile is not a step of the clock back", async () => {
  await schedule("secondly", "* * * * * *", { catchUp: "skip" });
  let now = halfPast;
  const shared = sharedRuns(pgque, queue);
  const schedules: typeof shared.schedules = async () => {
    now += 30_000;
    await round(now, makeScheduler());
    await sent();
    return shared.schedules();
  };
  const warn = (message: string): void => void warnings.push(message);
  const halted = new Scheduler(queue, { ...silent, warn }, { ...shared, schedules });
  await halted.round(async () => new Date(now), never);
  expect([warnings, await sent()]).toEqual([[], []]);
});

test("a worker goes on where one that stopped has left off", async () => {
  await schedule("hourly", "0 * * * *", { catchUp: { all: 10 } });
  const stopping = new AbortController();
  const stops = new Scheduler(queue, { ...silent, info: () => stopping.abort() }, sharedRuns(pgque, queue));
  await stops.round(async () => new Date(halfPast), stopping.signal);
  expect(await sent()).toEqual([["hourly", hoursAgo(9)]]);
  await round(halfPast);
  expect(await sent()).toHaveLength(9);
});

test("a schedule that is changed, disabled or removed is so from the next round on", async () => {
  await schedule("s", "0 * * * *");
  await round(hoursAgo(4));
  await schedule("s", "0 0 1 1 *");
  await round(hoursAgo(3));
  await schedule("s", "0 * * * *", { enabled: false });
  expect(await round(hoursAgo(2))).toBe(Number.POSITIVE_INFINITY);
  expect(await sent()).toEqual([["s", hoursAgo(4)]]);
  await schedule("s", "0 * * * *", { enabled: true });
  await round(hoursAgo(1));
  expect(await sent()).toEqual([["s", hoursAgo(1)]]);
  await pgque.schedules.remove(nameOf("s"));
  expect(await round(hoursAgo(0))).toBe(Number.POSITIVE_INFINITY);
  expect(await sent()).toEqual([]);
});

test("a clock that is set back runs nothing again, and when it has caught up nothing was left out", async () => {
  await schedule("hourly", "0 * * * *", { catchUp: { all: 10 } });
  await round(hoursAgo(2));
  expect(await round(hoursAgo(2) + 1)).toBe(hourMs - 1);
  await sent();
  expect(await round(hoursAgo(5) + 1)).toBe(hourMs - 1);
  expect(await round(hoursAgo(4))).toBe(hourMs);
  await round(halfPast);
  expect(await sent()).toEqual([1, 0].map((ago) => ["hourly", hoursAgo(ago)]));
});

test("the schedules of other queues are left to their workers", async () => {
  const other = await freshQueue(pgque);
  await pgque.schedules.set("of another queue", other, "* * * * * *", 1, { catchUp: { all: 10 } });
  expect(await round(hoursAgo(0))).toBe(Number.POSITIVE_INFINITY);
});

test("one that cannot be read is named once, until it is changed, and holds up no other", async () => {
  await schedule("hourly", "0 * * * *");
  await schedule("broken", "61 * * * *");
  await round(hoursAgo(2));
  await round(hoursAgo(1));
  expect(errors).toEqual([nameOf("broken")]);
  expect(await sent()).toHaveLength(2);
  await pgque.schedules.set(nameOf("broken"), queue, "62 * * * *", "broken");
  await round(hoursAgo(0));
  expect(errors).toEqual([nameOf("broken"), nameOf("broken")]);
});

test("one that the database refuses to run is named, tried again at the next round, and holds up no other", async () => {
  await schedule("large", "0 * * * *");
  await schedule("small", "0 * * * *");
  await admin.query("update pgque.schedule set payload = to_json(repeat('x', 200))::text where name = $1", [
    nameOf("large"),
  ]);
  await pgque.queues.change(queue, { payloadBytesMax: 100 });
  await round(hoursAgo(2));
  expect(errors).toEqual([nameOf("large")]);
  expect(await sent()).toEqual([["small", hoursAgo(2)]]);
  expect(await round(hoursAgo(2)), "not at once").toBe(hourMs);
  await pgque.queues.change(queue, { payloadBytesMax: 1000 });
  await round(hoursAgo(2));
  expect(await sent()).toHaveLength(1);
});

test("after a step of the clock back it runs as before, each time once, and says so once", async () => {
  await schedule("hourly", "0 * * * *", { catchUp: "once" });
  await round(hoursAgo(0));
  await sent();
  expect(await round(hoursAgo(2))).toBe(0);
  expect(await round(hoursAgo(2)), "which is recorded, and not asked for without a pause").toBe(hourMs);
  expect(await sent()).toEqual([["hourly", hoursAgo(2)]]);
  await round(hoursAgo(1));
  expect(await sent()).toEqual([["hourly", hoursAgo(1)]]);
  await round(hoursAgo(0));
  expect(await sent(), "the clock comes again to what was run").toEqual([]);
  expect(warnings).toEqual([[expect.stringMatching(/clock has stepped back/), nameOf("hourly")]]);
});
