import { defineQueue, Pgque } from "@pgque/client";
import { retry, type HandlerContext } from "@pgque/worker";
import { Pool } from "pg";
import { afterAll, beforeEach, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { Proxy } from "../../../test/support/proxy.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, makeWorker, silent, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool({ max: 20 }));
const client = await database.connect();
await client.query("create table public.account (id int)");
afterAll(() => database.drop());
beforeEach(async () => void (await client.query("truncate public.account")));

const booked = async (): Promise<number> => (await client.query("select from public.account")).rowCount ?? 0;
const port = Number(new URL(database.url).port);

const insert = "insert into public.account values (1)";
test("what a handler has begun and not waited for is over before its connection is somebody else's", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, 1);
  const own = new Pgque(database.pool({ max: 2 }));
  const seen: string[] = [];
  own.pool.on("release", () => seen.push("released"));
  await startWorker(
    own,
    queue,
    (_, { tx }) => {
      void tx.query("select pg_sleep(0.2)").then(() => seen.push("ended"));
      throw new Error("fails");
    },
    { transactional: true, concurrency: 1, maintainIntervalMs: 3_600_000 },
  );
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "it has failed");
  const end = seen.indexOf("ended");
  expect(end).toBeGreaterThanOrEqual(0);
  expect(seen.slice(end)).toContain("released");
});

test("a handler does not release the connection of its transaction", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, 1);
  await startWorker(pgque, queue, (_, { tx }) => tx.release(), { transactional: true });
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "it has failed");
  expect((await pgque.deadLetters.list(queue))[0]?.reason).toContain(
    "to leave `release` of its transaction to the worker",
  );
});

test("on a connection that has gone silent a time limit gives message, place and connection back", async () => {
  await using proxy = await Proxy.start(port);
  const pool = new Pool({ connectionString: proxy.through(database.url), max: 3 });
  pool.on("error", () => undefined);
  const own = new Pgque(pool);
  const queue = await freshQueue(pgque);
  await pgque.sendMany(queue, [1, 2]);
  let isSilent = false;
  const ended: unknown[] = [];
  const worker = makeWorker(
    own,
    queue,
    async ({ payload }, { tx }) => {
      if (!isSilent) {
        isSilent = true;
        proxy.goDumb({ serverKnows: true });
        proxy.recover();
      }
      await tx.query(insert);
      ended.push(payload);
    },
    { transactional: true, concurrency: 1, timeoutMs: 500, queryTimeoutMs: 1000 },
  );
  await worker.start();
  await until(
    async () => (await unfinished(pgque, queue)).open === 0 && (await booked()) === 2,
    "both are booked",
    40_000,
  );
  expect(new Set(ended)).toEqual(new Set([1, 2]));
  await worker.stop();
  // an idle connection of the pool that has gone silent would never say that it is closed
  proxy.cut();
  await pool.end();
});

test("stop and close end while a handler waits on a connection that has gone silent", async () => {
  await using proxy = await Proxy.start(port);
  const own = new Pgque(proxy.through(database.url));
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 1);
  const { open, passed } = gate();
  const worker = makeWorker(
    own,
    queue,
    async (_, { tx }) => {
      proxy.goDumb({ serverKnows: true });
      open();
      await tx.query(insert);
    },
    { transactional: true, shutdownTimeoutMs: 100 },
  );
  await worker.start();
  await passed;
  await worker.stop();
  await own.close({ timeoutMs: 100 });
  await until(() => proxy.connections === 0, "nothing of it is left");
});

test("more transactional calls than the pool has connections all succeed, in attempts of their own and within their time", async () => {
  const queues = [await freshQueue(pgque, { maxRetries: 0 }), await freshQueue(pgque, { maxRetries: 0 })];
  const next = await freshQueue(pgque);
  // an application's pool, which gives up after a while
  const own = new Pgque(database.pool({ max: 3, connectionTimeoutMillis: 400 }));
  let atOnce = 0;
  let most = 0;
  for (const queue of queues) {
    await pgque.sendMany(queue, [1, 2, 3, 4, 5]);
    await startWorker(
      own,
      queue,
      async (_, { tx }) => {
        atOnce += 1;
        most = Math.max(most, atOnce);
        await tx.query("select pg_sleep(0.25)");
        // through the pool
        await own.send(next, "sent");
        atOnce -= 1;
      },
      { transactional: true, concurrency: 10, timeoutMs: 5000 },
    );
  }
  await until(async () => (await pgque.messages.peek(next, { max: 20 })).length === 10, "all have sent");
  for (const queue of queues) {
    await until(async () => (await unfinished(pgque, queue)).open === 0, "all are acked");
    expect((await unfinished(pgque, queue)).dead).toBe(0);
  }
  expect(most).toBe(2);
});

test("a pool in which there is no connection for a handler is refused, with both numbers; one too small is told", async () => {
  const queue = await freshQueue(pgque);
  const make = (max: number, warn: (message: string) => void = () => undefined) =>
    makeWorker(new Pgque(database.pool({ max })), queue, () => undefined, {
      transactional: true,
      concurrency: 8,
      log: { ...silent, warn },
    });
  expect(() => make(1)).toThrow(
    "expected a pool of at least 2 connections for transactional handlers, and one for all else, got `max`: 1",
  );
  const said: string[] = [];
  make(4, (message) => void said.push(message));
  expect(said).toEqual(["expected a pool with one connection more than `concurrency`: 3 handlers at once, not 8"]);
});

test("a message that waits for a connection when the worker stops is given back without using an attempt", async () => {
  const own = new Pgque(database.pool({ max: 2 }));
  const queue = await freshQueue(pgque);
  const other = await freshQueue(pgque);
  await pgque.send(queue, "runs");
  const { open, passed } = gate();
  const { open: begin, passed: begun } = gate();
  await startWorker(own, queue, () => (begin(), passed), { transactional: true });
  await begun;
  await pgque.send(other, "waits");
  const waiting = await startWorker(own, other, () => retry({ afterMs: 0 }), { transactional: true });
  await until(() => waiting.health().held === 1, "it has its message");
  await waiting.stop();
  open();
  expect((await pgque.receive(other)).messages.map(({ payload, attempt }) => [payload, attempt])).toEqual([
    ["waits", 1],
  ]);
});

test.each([
  ["while its handler runs", async (kill: () => Promise<unknown>): Promise<unknown> => kill(), ""],
  ["by its own commit", async (): Promise<unknown> => undefined, "commit"],
])("a connection that is killed before the commit, %s, uses no attempt", async (_, during, when) => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await client.query(`
    create or replace function public.kill_once() returns trigger language plpgsql as $$
    begin
      if new.id = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
      return new;
    end $$;
    drop trigger if exists kill on public.account;
    create constraint trigger kill after insert on public.account deferrable initially deferred for each row execute function public.kill_once()`);
  const attempts: number[] = [];
  await startWorker(
    pgque,
    queue,
    async ({ attempt }, { tx }) => {
      const pid = (await tx.query("select pg_backend_pid() as pid")).rows[0].pid;
      attempts.push(attempt);
      const isFirst = attempts.length === 1;
      // a trigger of the commit kills the first
      await tx.query("insert into public.account values ($1)", [isFirst && when === "commit" ? 1 : 2]);
      if (!isFirst) return;
      await during(async () => {
        await client.query("select pg_terminate_backend($1)", [pid]);
        const gone = "select from pg_stat_activity where pid = $1";
        await until(async () => (await client.query(gone, [pid])).rowCount === 0, "the backend is gone");
      });
    },
    { transactional: true },
  );
  await pgque.send(queue, 1);
  await until(async () => attempts.length === 2 && (await unfinished(pgque, queue)).open === 0, "it is done");
  await client.query("drop trigger kill on public.account");
  expect({ attempts, booked: await booked(), ...(await unfinished(pgque, queue)) }).toEqual({
    attempts: [1, 1],
    booked: 1,
    open: 0,
    dead: 0,
  });
});

test("a handler that fails because its connection was killed in one of its statements uses an attempt: the statement may be why", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  const kill = (_: unknown, { tx }: HandlerContext): Promise<void> =>
    tx.query("select pg_terminate_backend(pg_backend_pid())").then(() => undefined);
  await startWorker(pgque, queue, kill, { transactional: true });
  await pgque.send(queue, 1);
  await until(async () => (await unfinished(pgque, queue)).dead === 1, "it is a dead letter");
});

test("what stands behind a message that is given back because its connection was lost waits for it", async () => {
  const queue = defineQueue(`${(await freshQueue(pgque)).name} by key`, { partitions: 1, maxRetries: 0 });
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "default", { mode: "ordered" });
  await pgque.sendMany(queue, [1, 2], { key: "k" });
  const handled: unknown[] = [];
  await startWorker(
    pgque,
    queue,
    async ({ payload }, { tx }) => {
      const pid = (await tx.query("select pg_backend_pid() as pid")).rows[0].pid;
      handled.push(payload);
      if (handled.length > 1) return;
      const lost = new Promise((resolve) => tx.once("error", resolve));
      await client.query("select pg_terminate_backend($1)", [pid]);
      await lost;
    },
    { transactional: true, mode: "ordered" },
  );
  await until(async () => handled.length >= 3 && (await unfinished(pgque, queue)).open === 0, "all is done");
  expect({ handled, ...(await unfinished(pgque, queue)) }).toEqual({ handled: [1, 1, 2], open: 0, dead: 0 });
});
