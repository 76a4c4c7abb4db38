import { Pgque } from "@pgque/client";
import { expect, test } from "vitest";
import { mails } from "../../docs/examples/migrating/queues.ts";
import type { TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { pgBoss } from "./pg-boss.ts";
import { move, serve, shop, waiting } from "./shop.ts";

const ada = "ada@example.org";
const dayMs = 86_400_000;

async function jobsLeft(database: TestDatabase): Promise<unknown[]> {
  const client = await database.connect();
  const { rows } = await client.query(
    "select data ->> 'subject' as subject, state from pgboss.job where state <> 'completed' and name = 'mails' order by created_on",
  );
  return rows;
}

test("a shop on pg-boss goes on with Pgque, with all that waited", async () => {
  await using database = await shop();
  const before = await serve("pg-boss/before.ts", database, (lines) => lines.length === 2);
  expect(new Set(before)).toEqual(new Set([`mail ${ada} order 1`, `book ${ada} 500`]));

  await using boss = await pgBoss(database);
  const startAfter = new Date(Date.now() + 40 * dayMs);
  const failing = await boss.send("mails", { to: "nobody", subject: "lost" }, { retryLimit: 1, retryDelay: 3600 });
  const failed = await boss.send("mails", { to: "nobody", subject: "failed" }, { retryLimit: 0 });
  for (const job of await boss.fetch("mails", { batchSize: 2 })) await boss.fail("mails", job);
  expect((await boss.getJobById("mails", failed ?? ""))?.state).toBe("failed");
  await boss.send("mails", { to: ada, subject: "newsletter" });
  await boss.send("mails", { to: ada, subject: "password reset" }, { priority: 100 });
  await boss.send(
    "mails",
    { to: ada, subject: "birthday" },
    { startAfter, singletonKey: "birthday", singletonSeconds: 60 },
  );
  for (const subject of ["one", "two"]) await boss.send("mails", { to: ada, subject }, { singletonKey: "looked up" });
  for (const cents of [1, 2, 3]) await boss.send("bookings", { account: "b", cents }, { singletonKey: "b" });
  await boss.send("digests", { kind: "extra" });
  await boss.schedule(
    "digests",
    "0 8 * * 1",
    { kind: "weekly" },
    { key: "weekly", tz: "Europe/Berlin", missed: "once" },
  );

  expect(await move("pg-boss/move.ts", database)).toEqual({ code: 0, output: "moved 11 and 2 schedules\n" });
  expect(await move("pg-boss/move.ts", database)).toEqual({ code: 0, output: "moved 0 and 0 schedules\n" });
  expect(await jobsLeft(database)).toEqual([{ subject: "failed", state: "failed" }]);
  expect(await boss.getSchedules()).toEqual([]);

  const moved = await waiting(database);
  expect(moved).toMatchObject({
    newsletter: { dueAt: null, priority: 0, headers: { "pgque-max-retries": 4 } },
    "password reset": { dueAt: null, priority: 9 },
    birthday: { dueAt: startAfter },
    "how was order 1?": { dueAt: expect.any(Date) },
    lost: { dueAt: expect.any(Date), headers: { "pgque-max-retries": 0, moved_from: `pg-boss ${failing}` } },
    one: { dueAt: null },
    two: { dueAt: null },
    "b 1": { key: "b" },
    extra: {},
  });
  expect(Object.keys(moved).filter((name) => name.startsWith("b "))).toEqual(["b 1", "b 2", "b 3"]);

  const pgque = new Pgque(database.pool());
  expect(await pgque.schedules.list()).toMatchObject([
    { name: "digests", cron: "0 6 * * *", timeZone: "UTC", payload: { kind: "daily" }, catchUp: "skip" },
    { name: "digests weekly", cron: "0 8 * * 1", timeZone: "Europe/Berlin", catchUp: "once" },
  ]);

  // keys go on to count
  await pgque.send(mails, { to: ada, subject: "twice" }, { dedupeKey: "birthday" });
  await pgque.send(mails, { to: ada, subject: "twice" }, { dedupeKey: "reminder 1" });
  expect(await waiting(database)).not.toHaveProperty("twice");

  const after = await serve("after.ts", database, (lines) => lines.length === 10);
  expect(after.filter((line) => line.startsWith("book b"))).toEqual(["book b 1", "book b 2", "book b 3"]);
  expect(after.filter((line) => !line.startsWith("book b")).toSorted()).toEqual(
    [
      `book ${ada} 990`,
      "digest extra",
      `mail ${ada} newsletter`,
      `mail ${ada} one`,
      `mail ${ada} order 3`,
      `mail ${ada} password reset`,
      `mail ${ada} two`,
    ].toSorted(),
  );
});

test("a job of pg-boss that cannot be moved leaves all where they are", async () => {
  await using database = await shop();
  await using boss = await pgBoss(database);
  await boss.send("mails", { to: ada, subject: "newsletter" });
  await boss.send("mails", { to: ada });
  const { code, output } = await move("pg-boss/move.ts", database);
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("PAYLOAD_INVALID") });
  expect(await jobsLeft(database)).toHaveLength(2);
  expect(await waiting(database)).toEqual({});
});

test("while workers of pg-boss go on, each job is theirs or is moved", async () => {
  await using database = await shop();
  await using boss = await pgBoss(database);
  const subjects = Array.from({ length: 500 }, (_, n) => `mail ${n}`);
  await boss.insert(
    "mails",
    subjects.map((subject) => ({ data: { to: ada, subject } })),
  );
  const handled: string[] = [];
  let moving: ReturnType<typeof move> | undefined;
  await boss.work<{ subject: string }>(
    "mails",
    { localConcurrency: 2, batchSize: 20, burstWhenBatchFull: true },
    async (jobs) => {
      for (const { data } of jobs) handled.push(data.subject);
      moving ??= move("pg-boss/move.ts", database);
      // one worker stays with its jobs until the move is over, the other goes on for a while
      if (handled.length === 20 || handled.length >= 100) await moving;
    },
  );
  await until(() => moving !== undefined, "a worker has jobs");
  expect(await moving).toMatchObject({ code: 0 });
  await boss.offWork("mails");
  const moved = Object.keys(await waiting(database));
  expect(moved.length).toBeGreaterThan(300);
  expect([...handled, ...moved].toSorted()).toEqual(subjects.toSorted());
});
