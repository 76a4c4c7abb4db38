import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { Pgque } from "@pgque/client";
import type { WorkerOptions } from "@pgque/worker";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const brief = { leaseMs: 2000, heartbeatIntervalMs: 200 };

test("a heartbeat keeps a message for as long as its handler runs", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, "long");
  const { open, passed } = gate();
  const calls: string[] = [];
  const handler = (name: string) => async (): Promise<void> => {
    calls.push(name);
    await passed;
  };
  await startWorker(pgque, queue, handler("first"), brief);
  await until(() => calls.length === 1, "it is handled");
  await startWorker(pgque, queue, handler("second"), brief);
  // two leases later, by the clock that decides
  const { rows } = await pgque.pool.query("select clock_timestamp() + '4 s' as later");
  await until(async () => {
    const { rows: now } = await pgque.pool.query("select clock_timestamp() > $1 as reached", [rows[0].later]);
    return now[0].reached;
  }, "two leases have passed");
  expect(calls).toEqual(["first"]);
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "it is acked");
  expect(calls).toEqual(["first"]);
});

test("what a worker that was killed had in hand is handled by another, once each; what it had acked does not come again", async () => {
  const queue = await freshQueue(pgque);
  const payloads = Array.from({ length: 40 }, (_, i) => i);
  await pgque.sendMany(queue, payloads);
  const killed = workerProcess(queue.name, { ...brief, prefetch: 40 });
  const done = new Set<number>();
  let blocked = false;
  killed.stdout?.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split("\n")) {
      if (line === "blocked") blocked = true;
      else done.add(Number(line));
    }
  });
  await until(() => blocked && done.size === 39, "one handler is blocked, the rest is handled");
  const acked = async (): Promise<boolean> => {
    const { rows } = await pgque.pool.query("select id from pgque.queue where name = $1", [queue.name]);
    const { rows: outcomes } = await pgque.pool.query(`select from pgque.outcome_${rows[0].id}`);
    return outcomes.length > 0;
  };
  await until(acked, "what was handled beside it is acked");
  killed.kill("SIGKILL");
  await once(killed, "exit");

  const again: [unknown, number][] = [];
  await startWorker(pgque, queue, ({ payload, attempt }) => void again.push([payload, attempt]), brief);
  await until(() => again.some(([payload]) => payload === 0), "the blocked one is handled by another worker");
  await until(async () => (await unfinished(pgque, queue)).open === 0, "all is acked");
  expect(again).toContainEqual([0, 1]);
  expect(new Set(again.map(([payload]) => payload)).size).toBe(again.length);
  expect(new Set([...done, 0])).toEqual(new Set(payloads));
});

test("a worker that was killed is noticed at once: its connection is gone, whatever is left of its lease", async () => {
  await endGrace();
  const queue = await freshQueue(pgque);
  await pgque.send(queue, 0);
  const killed = workerProcess(queue.name, { leaseMs: 600_000, heartbeatIntervalMs: 60_000 });
  let blocked = false;
  killed.stdout?.on("data", (chunk: Buffer) => (blocked ||= chunk.toString().includes("blocked")));
  await until(async () => {
    const { rows } = await pgque.pool.query(
      `select from pgque.queue q, pgque.open_batches(q.id) b, pgque.heartbeat h
        where q.name = $1 and h.worker = b.worker and h.session is not null`,
      [queue.name],
    );
    return blocked && rows.length > 0;
  }, "it is handled, by a worker that has said under which session");
  const attempts: number[] = [];
  await startWorker(pgque, queue, ({ attempt }) => void attempts.push(attempt));
  killed.kill("SIGKILL");
  await until(() => attempts.length > 0, "another worker handles it");
  expect(attempts).toEqual([1]);
});

test("a worker that loses the connection it listens on keeps its lease", async () => {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, "long");
  const { open, passed } = gate();
  const attempts: number[] = [];
  const handler = async ({ attempt }: { attempt: number }): Promise<void> => {
    attempts.push(attempt);
    await passed;
  };
  const options = { leaseMs: 600_000, heartbeatIntervalMs: 60_000, maintainIntervalMs: 60_000 };
  const worker = await startWorker(pgque, queue, handler, options);
  const sessions = (): Promise<(string | null)[]> => sessionsNamedBy(worker);
  await until(async () => attempts.length === 1 && (await sessions()).some(Boolean), "a heartbeat names a session");
  const killed = (await sessions()).findLast(Boolean);
  await pgque.pool.query(
    `select pg_terminate_backend(l.pid) from pg_locks l
      where l.locktype = 'advisory' and l.mode = 'ExclusiveLock'
        and (l.classid::bigint << 32) | l.objid::bigint = pgque.session_key($1)`,
    [killed],
  );
  await until(async () => (await sessions()).at(-1) !== killed, "it says that it lives");
  for (let i = 0; i < 3; i += 1) await pgque.maintain(queue);
  open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "it is acked");
  expect(attempts).toEqual([1]);
});

test("a worker that was stopped and started again is not taken for the one that is over", async () => {
  await endGrace();
  const queue = await freshQueue(pgque);
  const gates = new Map([gate(), gate()].map((one, i) => [i + 1, one]));
  const calls: [unknown, number][] = [];
  const handler = async ({ payload, attempt }: { payload: unknown; attempt: number }): Promise<void> => {
    calls.push([payload, attempt]);
    await gates.get(Number(payload))?.passed;
  };
  const options = { leaseMs: 600_000, heartbeatIntervalMs: 60_000, maintainIntervalMs: 60_000 };
  const worker = await startWorker(pgque, queue, handler, options);
  await pgque.send(queue, 1);
  await until(async () => (await sessionsNamedBy(worker)).some(Boolean), "a heartbeat names a session");
  gates.get(1)?.open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "it is acked");
  await worker.stop();
  await worker.start();
  await pgque.send(queue, 2);
  await until(() => calls.length === 2, "it is handled");
  for (let i = 0; i < 3; i += 1) await pgque.maintain(queue);
  gates.get(2)?.open();
  await until(async () => (await unfinished(pgque, queue)).open === 0, "it is acked");
  expect(calls).toEqual([
    [1, 1],
    [2, 1],
  ]);
});

/** The server of the tests has not run for half a minute yet, in which it takes nobody for dead. */
async function endGrace(): Promise<void> {
  await pgque.pool.query(
    "create or replace function pgque.session_grace() returns interval language sql immutable return interval '0 s'",
  );
}

/** By the worker's heartbeats, the latest last. */
async function sessionsNamedBy({ name }: { name: string }): Promise<(string | null)[]> {
  const { rows } = await pgque.pool.query(
    "select session from pgque.heartbeat where starts_with(worker, $1) order by alive_until",
    [name],
  );
  return rows.map(({ session }) => session);
}

/** A worker in a process of its own: writes what it handled; payload 0 blocks. */
function workerProcess(queue: string, options: WorkerOptions): ChildProcess {
  const script = path.join(import.meta.dirname, "support/worker-process.ts");
  const child = spawn(process.execPath, [script, queue, JSON.stringify(options)], {
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
