import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { defineQueue, Pgque } from "@pgque/client";
import { Worker, workerOptions } from "@pgque/worker";
import { runOnce, WorkerPreset } from "graphile-worker";
import { expect, test } from "vitest";
import { freshDatabase } from "../support/database.ts";
import { graphileWorker, listenedTo, logger } from "./graphile-worker.ts";
import { pgBoss } from "./pg-boss.ts";

const root = path.resolve(import.meta.dirname, "../..");
const guide = (name: string) => readFileSync(path.join(root, `docs/migrating-from-${name}.md`), "utf8");
/** What graphile-worker has in SQL alone. */
const inSql = new Set(["add_job", "remove_job", "exp"]);
const seconds = (ms: number | undefined) => `${(ms ?? Number.NaN) / 1000} s`;
const { concurrency, fallbackPollMs, maintainIntervalMs, shutdownTimeoutMs } = workerOptions;

test.each(["pg-boss", "graphile-worker"])("the guide from %s is about the version that these tests run", (name) => {
  const manifest = readFileSync(path.join(root, "node_modules", name, "package.json"), "utf8");
  const [, version] = /^(\d+\.\d+)/.exec((JSON.parse(manifest) as { version: string }).version) ?? [];
  expect(guide(name)).toContain(`for ${name} ${version}.`);
});

test.each(["pg-boss", "graphile-worker"])("the names that the tables have for %s are in its declarations", (name) => {
  const declarations = globSync(`node_modules/${name}/dist/*.d.ts`, { cwd: root })
    .map((file) => readFileSync(path.join(root, file), "utf8"))
    .join("\n");
  const rows = guide(name).match(/^\| (?=`)[^|]+/gm) ?? [];
  const names = rows.flatMap((row) => row.match(/(?<=`)\w+(?=[`(])/g) ?? []);
  expect(names.length).toBeGreaterThan(40);
  const unknown = names.filter((word) => !inSql.has(word) && !new RegExp(`\\b${word}\\b`).test(declarations));
  expect(unknown).toEqual([]);
});

test("the defaults that the guide names are those of pg-boss, and ours", async () => {
  await using database = await freshDatabase();
  await using boss = await pgBoss(database);
  const queue = await boss.getQueue("digests");
  const days = (s = Number.NaN) => `${s / 86_400} days`;
  for (const stated of [
    `\`retryLimit\`, ${queue?.retryLimit} |`,
    `\`expireInSeconds\`, ${(queue?.expireInSeconds ?? Number.NaN) / 60} min |`,
    `\`retentionSeconds\`, ${days(queue?.retentionSeconds)}:`,
    `\`deleteAfterSeconds\`, ${days(queue?.deleteAfterSeconds)} |`,
    `\`concurrency\`, ${concurrency.default} |`,
    `\`maintainIntervalMs\`, ${seconds(maintainIntervalMs.default)}.`,
    `\`maxRetries\`, ${await ourRetries(database.url)} |`,
  ])
    expect(guide("pg-boss")).toContain(stated);
});

test("the defaults that the guide names are those of graphile-worker, and ours", async () => {
  await using database = await freshDatabase();
  const job = await (await graphileWorker(database)).addJob("mail", {});
  const theirs = WorkerPreset.worker;
  for (const stated of [
    `\`maxAttempts\`, ${job.max_attempts} |`,
    `\`concurrentJobs\`, ${theirs?.concurrentJobs} |`,
    `\`pollInterval\`, ${seconds(theirs?.pollInterval)} |`,
    `\`gracefulShutdownAbortTimeout\`, ${seconds(theirs?.gracefulShutdownAbortTimeout)} |`,
    `\`concurrency\`, ${concurrency.default}, of each worker`,
    `\`fallbackPollMs\`, ${seconds(fallbackPollMs.default)},`,
    `\`shutdownTimeoutMs\`, ${seconds(shutdownTimeoutMs.default)};`,
    `\`maxRetries\`, ${await ourRetries(database.url)}; ${job.max_attempts - 1} is the same`,
  ])
    expect(guide("graphile-worker")).toContain(stated);
});

test("the backoff that the guide calls the same as graphile-worker's is", async () => {
  await using database = await freshDatabase();
  const utils = await graphileWorker(database);
  const admin = await database.connect();
  const mails = defineQueue("mails");
  await using pgque = new Pgque(database.pool());
  const waits: unknown[] = [];
  const warn = (_: string, fields: { retryAfterMs?: unknown } = {}) => void waits.push(fields.retryAfterMs);
  const log = { debug: () => undefined, info: () => undefined, warn, error: () => undefined };
  const fail = () => {
    throw new Error("no connection");
  };
  const retryBackoff = (attempt: number) => 1000 * Math.exp(Math.min(attempt, 10));
  expect(guide("graphile-worker")).toContain("`(attempt) => 1000 * Math.exp(Math.min(attempt, 10))`");
  const worker = new Worker(pgque, mails, fail, { retryBackoff, retryMaxMs: 22_100_000, log });

  for (const attempts of [0, 1, 9, 12]) {
    const job = await utils.addJob("mail", {});
    await utils.rescheduleJobs([job.id], { attempts });
    await runOnce({ pgPool: listenedTo(database), logger, noHandleSignals: true, taskList: { mail: fail } });
    // it failed after it was locked, and before now
    const { rows } = await admin.query(
      `select 1000 * extract(epoch from run_at - updated_at)::float as most, 1000 * extract(epoch from run_at - clock_timestamp())::float as least
         from graphile_worker.jobs where id = $1`,
      [job.id],
    );
    expect(retryBackoff(attempts + 1)).toBeLessThanOrEqual(rows[0].most);
    expect(retryBackoff(attempts + 1)).toBeGreaterThanOrEqual(rows[0].least);
  }
  await pgque.ensure(mails);
  await pgque.send(mails, 1);
  await worker.runOnce();
  expect(waits).toEqual([Math.round(retryBackoff(1))]);
  expect(retryBackoff(25)).toBeLessThan(22_100_000);
});

test("the policies of pg-boss are unique for as long as the guide says, and a failed job blocks its key", async () => {
  await using database = await freshDatabase();
  await using boss = await pgBoss(database);
  await boss.createQueue("short", { policy: "short" });
  await boss.createQueue("exclusive", { policy: "exclusive" });
  const isTaken = async (queue: string) => (await boss.send(queue, {}, { singletonKey: "a" })) !== null;
  for (const queue of ["short", "exclusive"])
    expect([await isTaken(queue), await isTaken(queue)]).toEqual([true, false]);
  const [[begun], [running]] = [await boss.fetch("short"), await boss.fetch("exclusive")];
  expect([begun, await isTaken("short"), await isTaken("exclusive")]).toEqual([expect.anything(), true, false]);
  await boss.complete("exclusive", running?.id ?? "");
  expect(await isTaken("exclusive")).toBe(true);

  for (const cents of [1, 2]) await boss.send("bookings", { cents }, { singletonKey: "a", retryLimit: 0 });
  const [first] = await boss.fetch("bookings");
  await boss.fail("bookings", first?.id ?? "");
  expect(await boss.fetch("bookings")).toEqual([]);
});

test("a job of pg-boss is retried immediately by default, and an event is copied to each queue", async () => {
  await using database = await freshDatabase();
  await using boss = await pgBoss(database);
  await boss.send("digests", { kind: "extra" });
  const [job] = await boss.fetch("digests");
  await boss.fail("digests", job?.id ?? "");
  expect(await boss.fetch("digests")).toMatchObject([{ id: job?.id }]);

  await boss.subscribe("placed", "mails");
  await boss.subscribe("placed", "digests");
  await boss.publish("placed", { kind: "event" });
  const admin = await database.connect();
  expect((await admin.query("select from pgboss.job where data ->> 'kind' = 'event'")).rowCount).toBe(2);
});

test("behind a failed job of a named queue of graphile-worker others go on", async () => {
  await using database = await freshDatabase();
  const utils = await graphileWorker(database);
  for (const cents of [1, 2]) await utils.addJob("book", { cents }, { queueName: "a" });
  const booked: unknown[] = [];
  const book = (payload: unknown) => {
    const { cents } = payload as { cents: number };
    if (cents === 1) throw new Error("no connection");
    booked.push(cents);
  };
  await runOnce({ pgPool: listenedTo(database), logger, noHandleSignals: true, taskList: { book } });
  expect(booked).toEqual([2]);
});

/** How many retries a queue has that `ensure` makes. */
async function ourRetries(url: string): Promise<number | null> {
  await using pgque = new Pgque(url);
  await pgque.ensure("q");
  return (await pgque.queues.settings("q")).maxRetries;
}
