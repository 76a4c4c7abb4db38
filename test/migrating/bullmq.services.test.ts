import { Pgque } from "@pgque/client";
import { Queue, Worker, type QueueOptions } from "bullmq";
import { expect, test, vi } from "vitest";
import { mails as pgqueMails } from "../../docs/examples/migrating/queues.ts";
import { startRedis } from "../services/redis.ts";
import { until } from "../support/until.ts";
import { move, serve, shop, waiting } from "./shop.ts";

const ada = "ada@example.org";
const dayMs = 86_400_000;

/** A Redis, which the examples find, and the library on it. */
async function bullmq() {
  const redis = await startRedis();
  vi.stubEnv("REDIS_URL", redis.url);
  const connection = { url: redis.url };
  const open: { close(): Promise<void> }[] = [];
  const opened = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    open.push(part);
    return part;
  };
  return {
    queue: (name: string, options: Omit<QueueOptions, "connection"> = {}) =>
      opened(new Queue(name, { connection, ...options })),
    worker: (name: string, handler: (data: { subject: string }) => unknown) =>
      opened(new Worker(name, async ({ data }) => handler(data), { connection })),
    async [Symbol.asyncDispose]() {
      await Promise.all(open.map((part) => part.close()));
      vi.unstubAllEnvs();
      await redis[Symbol.asyncDispose]();
    },
  };
}

test("a shop on BullMQ goes on with Pgque, with all that waited", async () => {
  await using database = await shop();
  await using old = await bullmq();
  const before = await serve("bullmq/before.ts", database, (lines) => lines.length === 2);
  expect(new Set(before)).toEqual(new Set([`mail ${ada} order 1`, `book ${ada} 500`]));

  const defaultJobOptions = { attempts: 5 };
  const mails = old.queue("mails", { defaultJobOptions });
  const bookings = old.queue("bookings", { defaultJobOptions });
  const failing = await mails.add("mail", { to: "nobody", subject: "lost" }, { attempts: 2, backoff: 3_600_000 });
  const failed = await mails.add("mail", { to: "nobody", subject: "failed" }, { attempts: 1 });
  const worker = old.worker("mails", ({ subject }) => {
    throw new Error(subject);
  });
  await until(async () => (await failed.isFailed()) && (await failing.isDelayed()), "both have been tried");
  await worker.close();
  await mails.add("mail", { to: ada, subject: "newsletter" }, { priority: 4 });
  await mails.add("mail", { to: ada, subject: "password reset" });
  const birthday = await mails.add(
    "mail",
    { to: ada, subject: "birthday" },
    { delay: 40 * dayMs, deduplication: { id: "birthday" } },
  );
  for (const cents of [1, 2, 3]) await bookings.add("book", { account: "b", cents });

  expect(await move("bullmq/move.ts", database)).toEqual({ code: 0, output: "{ jobs: 8, schedules: 1, active: 0 }\n" });
  expect(await move("bullmq/move.ts", database)).toEqual({ code: 0, output: "{ jobs: 0, schedules: 0, active: 0 }\n" });
  expect(await mails.getJobCounts("wait", "prioritized", "delayed", "failed")).toEqual({
    wait: 0,
    prioritized: 0,
    delayed: 0,
    failed: 1,
  });
  expect(await bookings.count()).toBe(0);

  const moved = await waiting(database);
  expect(moved).toMatchObject({
    newsletter: { dueAt: null, priority: 5, headers: { "pgque-max-retries": 4 } },
    "password reset": { dueAt: null, priority: 9 },
    birthday: { dueAt: new Date(birthday.timestamp + 40 * dayMs), priority: 9 },
    "how was order 1?": { dueAt: expect.any(Date), priority: 0 },
    lost: { dueAt: expect.any(Date), headers: { "pgque-max-retries": 0, moved_from: `bullmq ${failing.id}` } },
    "b 1": { key: "b" },
  });
  expect(Object.keys(moved).filter((name) => name.startsWith("b "))).toEqual(["b 1", "b 2", "b 3"]);
  const pgque = new Pgque(database.pool());
  expect(await pgque.schedules.list()).toMatchObject([
    { name: "digests", cron: "0 6 * * *", timeZone: "UTC", payload: { kind: "daily" }, catchUp: "skip" },
  ]);

  // keys go on to count
  await pgque.send(pgqueMails, { to: ada, subject: "twice" }, { dedupeKey: "birthday" });
  await pgque.send(pgqueMails, { to: ada, subject: "twice" }, { dedupeKey: "reminder 1" });
  expect(await waiting(database)).not.toHaveProperty("twice");

  const after = await serve("after.ts", database, (lines) => lines.length === 7);
  expect(after.filter((line) => line.startsWith("book b"))).toEqual(["book b 1", "book b 2", "book b 3"]);
  expect(after.filter((line) => !line.startsWith("book b")).toSorted()).toEqual(
    [`book ${ada} 990`, `mail ${ada} newsletter`, `mail ${ada} order 3`, `mail ${ada} password reset`].toSorted(),
  );
});

test("a job of BullMQ that cannot be stored leaves all of its queue where they are", async () => {
  await using database = await shop();
  await using old = await bullmq();
  const mails = old.queue("mails");
  await mails.add("mail", { to: ada, subject: "newsletter" });
  await mails.add("mail", { to: ada });
  const { code, output } = await move("bullmq/move.ts", database);
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("PAYLOAD_INVALID") });
  expect(await mails.count()).toBe(2);
  expect(await waiting(database)).toEqual({});
});

test("a job of BullMQ that was stored, and not removed before a crash, is not stored twice", async () => {
  await using database = await shop();
  await using old = await bullmq();
  const mails = old.queue("mails");
  const outputs: string[] = [];
  for (let n = 0; n < 2; n++) {
    // as it is again when the first move did not come to remove it
    await mails.add("mail", { to: ada, subject: "newsletter" }, { jobId: "newsletter" });
    outputs.push((await move("bullmq/move.ts", database)).output);
  }
  expect(outputs).toEqual([expect.stringContaining("jobs: 1"), expect.stringContaining("jobs: 0")]);
  expect(await mails.count()).toBe(0);
  const pgque = new Pgque(database.pool());
  expect(await pgque.messages.peek(pgqueMails)).toHaveLength(1);
});

test("while workers of BullMQ go on, each job is theirs or is moved", async () => {
  await using database = await shop();
  await using old = await bullmq();
  const mails = old.queue("mails");
  const subjects = Array.from({ length: 300 }, (_, n) => `mail ${n}`);
  await mails.addBulk(subjects.map((subject) => ({ name: "mail", data: { to: ada, subject } })));
  const pgque = new Pgque(database.pool());
  await pgque.ensure(pgqueMails);
  const isStored = async () => (await pgque.messages.peek(pgqueMails, { max: 1 })).length > 0;
  const handled: string[] = [];
  let moving: ReturnType<typeof move> | undefined;
  const handler = async ({ subject }: { subject: string }) => {
    handled.push(subject);
    moving ??= move("bullmq/move.ts", database);
    // one worker stays with its job until the move is over; the other goes on for a while, and again between the store and the removal
    if (handled.length === 1) await moving;
    if (handled.length === 100) await until(isStored, "what is left is stored");
  };
  const workers = [old.worker("mails", handler), old.worker("mails", handler)];
  await until(() => moving !== undefined, "a worker has a job");
  expect(await moving).toMatchObject({ code: 0 });
  await Promise.all(workers.map((worker) => worker.close()));
  const moved = Object.keys(await waiting(database));
  expect(moved.length).toBeGreaterThan(150);
  expect([...handled, ...moved].toSorted()).toEqual(subjects.toSorted());
});
