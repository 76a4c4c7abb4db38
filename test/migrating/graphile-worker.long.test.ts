import { Pgque } from "@pgque/client";
import { runOnce } from "graphile-worker";
import { expect, test } from "vitest";
import { mails } from "../../docs/examples/migrating/queues.ts";
import type { TestDatabase } from "../support/database.ts";
import { graphileWorker, listenedTo, logger } from "./graphile-worker.ts";
import { move, serve, shop, waiting } from "./shop.ts";

const ada = "ada@example.org";
const dayMs = 86_400_000;

async function jobsLeft(database: TestDatabase): Promise<unknown[]> {
  const client = await database.connect();
  const { rows } = await client.query("select task_identifier as task, attempts from graphile_worker.jobs order by id");
  return rows;
}

test("a shop on graphile-worker goes on with Pgque, with all that waited", async () => {
  await using database = await shop();
  const before = await serve("graphile-worker/before.ts", database, (lines) => lines.length === 2);
  expect(new Set(before)).toEqual(new Set([`mail ${ada} order 1`, `book ${ada} 500`]));

  const utils = await graphileWorker(database);
  const runAt = new Date(Date.now() + 40 * dayMs);
  await utils.addJob("mail", { to: ada, subject: "newsletter" });
  await utils.addJob("mail", { to: ada, subject: "password reset" }, { priority: -10 });
  await utils.addJob("mail", { to: ada, subject: "birthday" }, { runAt, jobKey: "birthday" });
  const failing = await utils.addJob("mail", { to: "nobody", subject: "lost" }, { maxAttempts: 4 });
  await utils.rescheduleJobs([failing.id], { attempts: 3 });
  const failed = await utils.addJob("mail", { to: "nobody", subject: "failed" });
  await utils.permanentlyFailJobs([failed.id]);
  for (const cents of [1, 2, 3]) await utils.addJob("book", { account: "b", cents }, { queueName: "b" });
  await utils.addJob("digest", { kind: "extra" });

  expect(await move("graphile-worker/move.ts", database)).toEqual({ code: 0, output: "moved 9\n" });
  expect(await move("graphile-worker/move.ts", database)).toEqual({ code: 0, output: "moved 0\n" });
  expect(await jobsLeft(database)).toEqual([{ task: "mail", attempts: 25 }]);

  const moved = await waiting(database);
  expect(moved).toMatchObject({
    newsletter: { dueAt: null, priority: 5, headers: { "pgque-max-retries": 24 } },
    "password reset": { dueAt: null, priority: 9 },
    birthday: { dueAt: runAt, priority: 5 },
    "how was order 1?": { priority: 0, dueAt: expect.any(Date) },
    lost: { headers: { "pgque-max-retries": 0, moved_from: `graphile-worker ${failing.id}` } },
    "b 1": { key: "b" },
    extra: {},
  });
  expect(Object.keys(moved).filter((name) => name.startsWith("b "))).toEqual(["b 1", "b 2", "b 3"]);

  // keys go on to count
  const pgque = new Pgque(database.pool());
  await pgque.send(mails, { to: ada, subject: "twice" }, { dedupeKey: "birthday" });
  await pgque.send(mails, { to: ada, subject: "twice" }, { dedupeKey: "reminder 1" });
  expect(await waiting(database)).not.toHaveProperty("twice");

  const isDead = async () => (await pgque.deadLetters.list(mails)).length === 1;
  const after = await serve("after.ts", database, async (lines) => lines.length === 8 && (await isDead()));
  expect(after.filter((line) => line.startsWith("book b"))).toEqual(["book b 1", "book b 2", "book b 3"]);
  expect(after.toSorted()).toEqual(
    [
      "book b 1",
      "book b 2",
      "book b 3",
      `book ${ada} 990`,
      "digest extra",
      `mail ${ada} newsletter`,
      `mail ${ada} order 3`,
      `mail ${ada} password reset`,
    ].toSorted(),
  );
  const [lost] = await pgque.deadLetters.list(mails);
  expect(lost).toMatchObject({ attempt: 1, reason: expect.stringContaining("no such address: nobody") });
});

test("a job of graphile-worker that cannot be moved leaves all where they are", async () => {
  await using database = await shop();
  const utils = await graphileWorker(database);
  await utils.addJob("mail", { to: ada, subject: "newsletter" });
  await utils.addJob("mail", { to: ada });
  const { code, output } = await move("graphile-worker/move.ts", database);
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("PAYLOAD_INVALID") });
  expect(await jobsLeft(database)).toHaveLength(2);
  expect(await waiting(database)).toEqual({});
});

test("while workers of graphile-worker go on, each job is theirs or is moved", async () => {
  await using database = await shop();
  const utils = await graphileWorker(database);
  const subjects = Array.from({ length: 500 }, (_, n) => `mail ${n}`);
  await utils.addJobs(subjects.map((subject) => ({ identifier: "mail", payload: { to: ada, subject } })));
  const handled: string[] = [];
  let moving: ReturnType<typeof move> | undefined;
  await runOnce({
    pgPool: listenedTo(database),
    logger,
    noHandleSignals: true,
    concurrency: 2,
    taskList: {
      mail: async (payload) => {
        handled.push((payload as { subject: string }).subject);
        moving ??= move("graphile-worker/move.ts", database);
        // one worker stays with its job until the move is over, the other goes on for a while
        if (handled.length === 1 || handled.length === 100) await moving;
      },
    },
  });
  expect(await moving).toMatchObject({ code: 0 });
  const moved = Object.keys(await waiting(database));
  expect(moved.length).toBeGreaterThan(300);
  expect([...handled, ...moved].toSorted()).toEqual(subjects.toSorted());
});

test("an active job of graphile-worker stays with its worker, and is moved by the next run when it has failed", async () => {
  await using database = await shop();
  const utils = await graphileWorker(database);
  await utils.addJob("mail", { to: ada, subject: "newsletter" }, { maxAttempts: 3 });
  await runOnce({
    pgPool: listenedTo(database),
    logger,
    noHandleSignals: true,
    taskList: {
      mail: async () => {
        expect(await move("graphile-worker/move.ts", database)).toEqual({ code: 0, output: "moved 0\n" });
        throw new Error("no connection");
      },
    },
  });
  expect(await move("graphile-worker/move.ts", database)).toEqual({ code: 0, output: "moved 1\n" });
  expect(await waiting(database)).toMatchObject({ newsletter: { headers: { "pgque-max-retries": 1 } } });
});

test("a job of a task that has no queue is named, and leaves all where they are", async () => {
  await using database = await shop();
  const utils = await graphileWorker(database);
  await utils.addJob("mail", { to: ada, subject: "newsletter" });
  const unknown = await utils.addJob("resize", { image: 1 });
  const { code, output } = await move("graphile-worker/move.ts", database);
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining(`found job ${unknown.id} of resize`) });
  expect(await jobsLeft(database)).toHaveLength(2);
  expect(await waiting(database)).toEqual({});
});
