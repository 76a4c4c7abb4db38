import { Pgque, type Queue } from "@pgque/client";
import { afterAll, expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, silent, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const admin = await database.connect();
afterAll(() => database.drop());

/** Workers that poll so seldom that only a notification explains what they handle. */
const seldom = { fallbackPollMs: 600_000, pollMinMs: 60_000, pollMaxMs: 600_000 };

/** A process of its own, as far as connections go: its pool and the connection that listens have its name. */
function processOf(of: TestDatabase, name: string, max: number): Pgque {
  return new Pgque(of.pool({ application_name: name, max }));
}

/** Raised idle flags, and the sessions that have raised them. */
async function flags(name: string): Promise<{ pids: number[]; raised: number }> {
  const { rows } = await admin.query(
    `select l.pid from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.mode = 'ShareLock' and a.application_name = $1`,
    [name],
  );
  return { pids: [...new Set(rows.map(({ pid }) => pid))], raised: rows.length };
}

async function sessions(name: string): Promise<number[]> {
  const { rows } = await admin.query("select pid from pg_stat_activity where application_name = $1", [name]);
  return rows.map(({ pid }) => pid);
}

/** The one connection on which so many workers sleep. */
async function asleep(name: string, workers: number): Promise<number> {
  let pids: number[] = [];
  await until(async () => {
    const found = await flags(name);
    pids = found.pids;
    return found.raised === workers;
  }, `${workers} workers sleep`);
  const [line, ...others] = pids;
  if (line === undefined || others.length > 0) throw new Error(`expected one connection, got ${pids.length}`);
  return line;
}

const freshQueues = (pgque: Pgque, count: number): Promise<Queue[]> =>
  Promise.all(Array.from({ length: count }, () => freshQueue(pgque)));

/** Its workers use it meanwhile: of a deadlock the drop may be the victim, and is asked for again. */
async function drop(queue: string): Promise<void> {
  await until(async () => {
    try {
      await admin.query("select pgque.drop_queue($1, true)", [queue]);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== "40P01") throw error;
      return false;
    }
  }, "the queue is dropped");
}

test("ten workers of ten queues listen on one connection beside the pool, and each is woken by its queue", async () => {
  const pgque = processOf(database, "ten", 3);
  const queues = await freshQueues(pgque, 10);
  const handled: unknown[] = [];
  for (const queue of queues) await startWorker(pgque, queue, ({ payload }) => void handled.push(payload), seldom);
  await asleep("ten", 10);
  expect((await sessions("ten")).length).toBeLessThanOrEqual(1 + 3);
  const sender = new Pgque(database.pool());
  for (const queue of queues) await sender.send(queue, queue.name);
  await until(() => handled.length === 10, "all are handled");
  expect(new Set(handled)).toEqual(new Set(queues.map(({ name }) => name)));
});

test("when that connection is killed all listen again, and none loses a lease", async () => {
  // the server of the tests has not run for half a minute yet
  await admin.query(
    "create or replace function pgque.session_grace() returns interval language sql immutable return interval '0 s'",
  );
  const pgque = processOf(database, "killed", 3);
  const queues = await freshQueues(pgque, 5);
  const { open, passed } = gate();
  const handled: [string, number][] = [];
  for (const queue of queues) {
    const handler = async ({ payload, attempt }: { payload: unknown; attempt: number }): Promise<void> => {
      handled.push([String(payload), attempt]);
      if (payload === "long") await passed;
    };
    await startWorker(pgque, queue, handler, { ...seldom, maintainIntervalMs: 3_600_000 });
  }
  const killed = await asleep("killed", 5);
  for (const queue of queues) await pgque.send(queue, "long");
  await until(() => handled.length === 5, "a handler runs in each");
  /** Workers whose last heartbeat names a session, or one of those that the connection holds. */
  const named = async (condition: string, values: unknown[]): Promise<string[]> => {
    const { rows } = await admin.query(
      `select h.session from (select distinct on (h.worker) h.* from pgque.heartbeat h order by h.worker, h.n desc) h where ${condition}`,
      values,
    );
    return rows.map(({ session }) => session);
  };
  const held = `exists (
    select from pg_locks l
     where l.pid = $1 and l.locktype = 'advisory' and (l.classid::bigint << 32) | l.objid::bigint = pgque.session_key(h.session))`;
  await until(async () => (await named(held, [killed])).length === 5, "the heartbeats of all name it");
  const [session] = await named(held, [killed]);
  // between the end of a session and the heartbeats that say so its leases can be taken: nobody looks in that moment
  const names = queues.map(({ name }) => name);
  const forAll = (call: string): Promise<unknown> =>
    admin.query(`select ${call}(pgque.lock_key('maintain', q.id)) from pgque.queue q where q.name = any ($1)`, [names]);
  await forAll("pg_advisory_lock");
  await admin.query("select pg_terminate_backend($1)", [killed]);
  await until(async () => !(await sessions("killed")).includes(killed), "it is gone");
  await asleep("killed", 5);
  await until(async () => (await named("h.session = $1", [session])).length === 0, "the heartbeats of none do");
  await forAll("pg_advisory_unlock");
  for (const queue of queues) for (let i = 0; i < 3; i += 1) await pgque.maintain(queue);
  for (const queue of queues) await pgque.send(queue, "afterwards");
  const afterwards = (): number => handled.filter(([payload]) => payload === "afterwards").length;
  await until(() => afterwards() === 5, "all are woken");
  open();
  for (const queue of queues) await until(async () => (await unfinished(pgque, queue)).open === 0, "all are acked");
  expect(handled.map(([, attempt]) => attempt)).toEqual(Array.from({ length: 10 }, () => 1));
});

test("a worker that stops leaves the others listening, and the last one closes the connection", async () => {
  const pgque = processOf(database, "stops", 3);
  const [one, other] = await freshQueues(pgque, 2);
  if (!one || !other) throw new Error("expected two queues");
  const handled: unknown[] = [];
  const handler = ({ payload }: { payload: unknown }): void => void handled.push(payload);
  const workers = [await startWorker(pgque, one, handler, seldom), await startWorker(pgque, other, handler, seldom)];
  const line = await asleep("stops", 2);
  await workers[0]?.stop();
  await asleep("stops", 1);
  await pgque.send(one, "for nobody");
  await pgque.send(other, "for the other");
  await until(() => handled.length === 1, "the other is woken");
  await asleep("stops", 1);
  await workers[0]?.start();
  expect(await asleep("stops", 2)).toBe(line);
  await pgque.send(one, "again");
  await until(() => handled.length === 3, "both are woken");
  expect(handled).toEqual(["for the other", "for nobody", "again"]);
  await Promise.all(workers.map((worker) => worker.stop()));
  await until(async () => !(await sessions("stops")).includes(line), "the connection is closed");
  await workers[0]?.start();
  await asleep("stops", 1);
});

test("two workers of one queue are both woken, and one goes on when the other stops", async () => {
  const pgque = processOf(database, "two", 4);
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  const running: string[] = [];
  const handler = (name: string) => async (): Promise<void> => {
    running.push(name);
    await passed;
  };
  const options = { ...seldom, concurrency: 1, prefetch: 1 };
  const first = await startWorker(pgque, queue, handler("first"), options);
  await startWorker(pgque, queue, handler("second"), options);
  // a flag that is raised twice on a connection is one lock
  await asleep("two", 1);
  await pgque.sendMany(queue, [1, 2]);
  await until(() => running.length === 2, "both handle one");
  expect(running.toSorted()).toEqual(["first", "second"]);
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "both are acked");
  await first.stop();
  await pgque.send(queue, 3);
  await until(() => running.length === 3, "the second is woken");
  expect(running[2]).toBe("second");
});

test("a queue that is dropped costs the workers of others nothing", async () => {
  const pgque = processOf(database, "dropped", 3);
  const [dropped, other] = await freshQueues(pgque, 2);
  if (!dropped || !other) throw new Error("expected two queues");
  let failures = 0;
  const log = { ...silent, error: () => (failures += 1) };
  const handled: unknown[] = [];
  const quick = { ...seldom, fallbackPollMs: 50, pollMinMs: 20, pollMaxMs: 20 };
  await startWorker(pgque, dropped, () => undefined, { ...quick, log });
  await startWorker(pgque, other, ({ payload }) => void handled.push(payload), seldom);
  const line = await asleep("dropped", 2);
  await drop(dropped.name);
  await until(() => failures > 1, "its worker is told");
  await pgque.send(other, 1);
  await until(() => handled.length === 1, "it is handled");
  expect(await asleep("dropped", 2)).toBe(line);
});

test("a queue that is dropped holds up nothing that is delayed in the others", async () => {
  const pgque = processOf(database, "delayed", 3);
  const [dropped, other] = await freshQueues(pgque, 2);
  if (!dropped || !other) throw new Error("expected two queues");
  const handled: unknown[] = [];
  // the upkeep of this one would come too late by itself
  await startWorker(pgque, other, ({ payload }) => void handled.push(payload), {
    ...seldom,
    maintainIntervalMs: 3_600_000,
  });
  let failures = 0;
  const log = { ...silent, error: (what: string) => (failures += Number(what.startsWith("maintenance"))) };
  await startWorker(pgque, dropped, () => undefined, { ...seldom, log });
  await asleep("delayed", 2);
  await drop(dropped.name);
  await until(() => failures > 0, "its upkeep fails");
  await pgque.send(other, "delayed", { delayMs: 100 });
  await until(() => handled.length === 1, "what has become due is handled");
});

test("transactional handlers keep their leases while they and the application have the whole pool for longer than that", async () => {
  const pgque = processOf(database, "pool", 3);
  const queue = await freshQueue(pgque);
  const { open, passed } = gate();
  const attempts: number[] = [];
  const handler = async ({ attempt }: { attempt: number }): Promise<void> => {
    attempts.push(attempt);
    await passed;
  };
  const brief = { leaseMs: 1000, heartbeatIntervalMs: 100, maintainIntervalMs: 100 };
  await startWorker(pgque, queue, handler, { ...brief, concurrency: 2, prefetch: 2, transactional: true });
  await until(async () => (await flags("pool")).raised === 1, "it sleeps");
  await pgque.sendMany(queue, [1, 2]);
  await until(() => attempts.length === 2, "the handlers have all connections but one");
  const last = await pgque.pool.connect();
  // another process would take what is not kept
  const rival = new Pgque(database.pool());
  await startWorker(rival, queue, handler, brief);
  const { rows } = await admin.query("select clock_timestamp() + '3 s' as later");
  await until(async () => {
    const { rows: now } = await admin.query("select clock_timestamp() > $1 as reached", [rows[0].later]);
    return now[0].reached;
  }, "three leases have passed");
  expect(attempts).toEqual([1, 1]);
  last.release();
  open();
  await until(async () => (await unfinished(rival, queue)).open === 0, "they are acked");
  expect(attempts).toEqual([1, 1]);
});
