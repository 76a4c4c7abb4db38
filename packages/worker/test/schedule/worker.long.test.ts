import { spawn } from "node:child_process";
import path from "node:path";
import { Pgque, type Queue, defineQueue } from "@pgque/client";
import type { WorkerOptions } from "@pgque/worker";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { freshDatabase, ownServer } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue, makeWorker, startWorker } from "../support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

/** However slow the machine is, no time is left out. */
const everySecond = { cron: "* * * * * *", payload: 1, catchUp: { all: 1440 } } as const;

/** Which message was sent for which second. */
class Runs {
  readonly ids = new Map<number, Set<string>>();

  add(id: string, runAt: unknown): void {
    const second = Date.parse(String(runAt)) / 1000;
    this.ids.set(second, (this.ids.get(second) ?? new Set()).add(id));
  }

  async reach(count: number): Promise<void> {
    const from = this.ids.size;
    await until(() => this.ids.size >= from + count, `${count} more times are run`);
  }

  /** The seconds follow each other, with a message for each. What is handled elsewhere, or comes again from a dead worker, may be late. */
  async check(): Promise<void> {
    const isComplete = (): boolean => {
      const seconds = [...this.ids.keys()];
      return Math.max(...seconds) - Math.min(...seconds) === seconds.length - 1;
    };
    await until(isComplete, "no second is left out", 40_000);
    const seconds = [...this.ids.keys()].toSorted((a, b) => a - b);
    expect(seconds).toEqual(seconds.map((_, i) => (seconds[0] ?? 0) + i));
    expect([...this.ids.values()].every((ids) => ids.size === 1)).toBe(true);
  }
}

async function start(queue: Queue, runs: Runs, options: WorkerOptions = {}, from: Pgque = pgque): Promise<void> {
  await startWorker(from, queue, ({ id, headers }) => runs.add(id, headers["run_at"]), options);
}

test.each([2, 4])("of %i workers one runs each time", async (workers) => {
  const queue = await freshQueue(pgque);
  const runs = new Runs();
  const schedules = { [`every second, ${workers}`]: everySecond };
  for (let i = 0; i < workers; i += 1) await start(queue, runs, { schedules });
  await runs.reach(4);
  await runs.check();
});

test("of processes that come and are killed one runs each time", async () => {
  const queue = await freshQueue(pgque);
  await pgque.schedules.set("among processes", queue, everySecond.cron, 1, { catchUp: everySecond.catchUp });
  const runs = new Runs();
  const startProcess = () => {
    const file = path.join(import.meta.dirname, "support/schedule-process.ts");
    const child = spawn(process.execPath, [file, queue.name], { env: { ...process.env, DATABASE_URL: database.url } });
    onTestFinished(() => void child.kill("SIGKILL"));
    let text = "";
    child.stdout.on("data", (data: Buffer) => {
      const lines = (text + data.toString()).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) runs.add(...(line.split(" ") as [string, string]));
    });
    return child;
  };
  const [first] = [startProcess(), startProcess()];
  await runs.reach(3);
  first.kill("SIGKILL");
  startProcess();
  await runs.reach(3);
  await runs.check();
});

test("scheduled run outlives a restart of the server", async () => {
  await using own = await ownServer();
  const client = new Pgque(own.pool());
  const queue = await freshQueue(client);
  const runs = new Runs();
  await start(
    queue,
    runs,
    { schedules: { "every second": everySecond }, leaseMs: 1000, heartbeatIntervalMs: 200 },
    client,
  );
  await runs.reach(2);
  await own.server.restart({ immediate: true });
  await runs.reach(3);
  await runs.check();
});

test("a schedule that is set, changed and removed while a worker runs", async () => {
  const queue = await freshQueue(pgque);
  const payloads = new Set<unknown>();
  await pgque.schedules.set("metronome", queue, "* * * * * *", "tick");
  await startWorker(pgque, queue, ({ payload }) => void payloads.add(payload));
  await until(() => payloads.has("tick"), "it runs");
  await pgque.schedules.set("new", queue, "* * * * * *", "new");
  await until(() => payloads.has("new"), "the new one runs");
  await pgque.schedules.set("new", queue, "* * * * * *", "changed");
  await until(() => payloads.has("changed"), "it runs as it is now");
  await pgque.schedules.remove("new");
  payloads.clear();
  await pgque.schedules.set("last", queue, "* * * * * *", "last");
  await until(() => payloads.has("last"), "a later one runs");
  payloads.clear();
  await until(() => payloads.has("last") && payloads.has("tick"), "the others run again");
  expect(payloads).toEqual(new Set(["tick", "last"]));
});

test("a worker that has stopped runs no more, and stops also while it waits for a far-off time", async () => {
  const queue = await freshQueue(pgque);
  const schedules = { "in a year": { cron: "0 0 1 1 *", payload: 1 } };
  const worker = await startWorker(pgque, queue, () => undefined, { schedules });
  await worker.stop();
  await pgque.schedules.set("in a year", queue, "* * * * * *", 1);
  const other = await freshQueue(pgque);
  const runs = new Runs();
  await start(other, runs, { schedules: { "of another": everySecond } });
  await runs.reach(2);
  expect((await pgque.schedules.list(queue))[0]?.lastRunAt).toBeNull();
});

test("schedules are declared with the types of the queue, and checked by its schema", async () => {
  const types = { daily: z.object({ kind: z.string() }), weekly: z.object({ week: z.number() }) };
  const queue = defineQueue("typed reports", { types });
  const daily = { cron: "0 3 * * *", timeZone: "Europe/Berlin", type: "daily", payload: { kind: "all" } } as const;
  const worker = makeWorker(pgque, queue, () => undefined, { schedules: { nightly: daily } });
  await worker.start();
  expect(await pgque.schedules.list(queue)).toMatchObject([
    { name: "nightly", cron: "0 3 * * *", timeZone: "Europe/Berlin", type: "daily", payload: { kind: "all" } },
  ]);
  const nightly = { ...daily, payload: { week: 1 } };
  // @ts-expect-error -- the payload of another type
  const wrong = makeWorker(pgque, queue, () => undefined, { schedules: { nightly } });
  await expect(wrong.start()).rejects.toMatchObject({
    code: "PAYLOAD_INVALID",
    message: expect.stringContaining('schedule "nightly"'),
  });
});

test.each([
  [{ s: { cron: "61 * * * *", payload: 1 } }, 'schedule "s": expected `cron` to be a cron expression'],
  [{ s: { cron: "@daily", payload: 1, timeZone: "Mars" } }, 'schedule "s": expected `timeZone` to be a time zone'],
  [{ s: "@daily" }, "schedule \"s\": expected an object, got: '@daily'"],
  ["@daily", "expected `schedules` to be an object of schedules by name, got: '@daily'"],
])("%j is refused", (schedules, message) => {
  const make = () => makeWorker(pgque, defineQueue("q"), () => undefined, { schedules: schedules as never });
  expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }));
});

test("a worker without the right to change schedules runs them, and may declare them as they are", async () => {
  await using own = await ownServer();
  const admin = await own.connect();
  const owner = new Pgque(own.pool());
  const queue = defineQueue("orders");
  await owner.ensure(queue);
  await admin.query(
    "create role worker login password 'secret'; select pgque.grant_queue('orders', 'worker', 'receive')",
  );
  const url = new URL(own.url);
  [url.username, url.password] = ["worker", "secret"];
  await using client = new Pgque(url.href);
  const declared = (payload: unknown) => ({ schedules: { "every second": { cron: "* * * * * *", payload } } });
  const handler = () => undefined;

  await expect(makeWorker(client, queue, handler, declared(1)).start()).rejects.toMatchObject({
    code: "ACCESS_DENIED",
    message: expect.stringContaining('expected schedule "every second" to be in the database as it is declared'),
    hint: expect.stringContaining("pgque.schedules.set"),
  });
  await owner.schedules.set("every second", queue, "* * * * * *", 1);
  let handled = 0;
  const worker = await startWorker(client, queue, () => void (handled += 1), declared(1));
  await until(() => handled > 0, "it runs");
  await worker.stop();
  await expect(makeWorker(client, queue, handler, declared(2)).start()).rejects.toMatchObject({
    code: "ACCESS_DENIED",
  });
});
