import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, maintain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let session: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  [a, session] = [await database.connect(), await database.connect()];
  await makeQueue(a);
});
afterEach(() => database.drop());

/** The server of the tests has not run for half a minute yet. */
const noGrace = (): Promise<unknown> =>
  a.query(
    "create or replace function pgque.session_grace() returns interval language sql immutable return interval '0 s'",
  );
const heartbeat = (name: string | null): Promise<unknown> =>
  a.query("select pgque.heartbeat('w', '1 hour', $1)", [name]);
/** The heartbeats that are stored were written at a time that the clock has not come to. */
const aheadBy = (step: string): Promise<unknown> =>
  a.query(
    "update pgque.heartbeat set written_at = written_at + $1::interval, alive_until = alive_until + $1::interval",
    [step],
  );
async function alive(): Promise<{ alive: boolean; workers: number }> {
  const { rows } = await a.query(
    "select pgque.is_alive('w') as alive, (select count(*)::int from pgque.worker_status()) as workers",
  );
  return rows[0];
}

async function endSession(): Promise<void> {
  const pid = await backendPid(session);
  await a.query("select pg_terminate_backend($1)", [pid]);
  await until(async () => {
    const { rows } = await a.query("select from pg_stat_activity where pid = $1", [pid]);
    return rows.length === 0;
  }, "the session is gone");
}

test("a worker whose session is over is dead at once, whatever its lease and its heartbeat say", async () => {
  await noGrace();
  await session.query("select pgque.hold_session('s')");
  await send(a, "one");
  const { batch } = await receive(a, "c", 1, "1 hour", "w");
  await heartbeat("s");
  await maintain(a);
  expect(await drain(a)).toEqual([]);
  await endSession();
  await maintain(a);
  expect(await drain(a)).toEqual(["one"]);
  expect(await ack(a, batch)).toBe(0);
});

test("one that says in time that it lives without its session keeps its lease", async () => {
  await noGrace();
  await session.query("select pgque.hold_session('s')");
  await send(a, "one");
  const { batch } = await receive(a, "c", 1, "1 hour", "w");
  await heartbeat("s");
  await endSession();
  await a.query("select pgque.heartbeat('w', '15 s')");
  await maintain(a);
  expect(await ack(a, batch)).toBe(1);
});

test("the session of a worker is the one that it named last, also when the clock has stepped back since the one before", async () => {
  await noGrace();
  await session.query("select pgque.hold_session('before')");
  await heartbeat("before");
  await aheadBy("2 hours");
  await endSession();
  const next = await database.connect();
  await next.query("select pgque.hold_session('after')");
  await send(a, "one");
  const { batch } = await receive(a, "c", 1, "30 s", "w");
  await a.query("select pgque.heartbeat('w', '15 s', 'after')");
  await maintain(a);
  expect(await ack(a, batch)).toBe(1);
});

test("a heartbeat from before the clock stepped back does not keep a worker alive that has sent another since", async () => {
  await heartbeat(null);
  await aheadBy("2 hours");
  expect(await alive()).toEqual({ alive: true, workers: 1 });
  await a.query("select pgque.heartbeat('w', '1 ms')");
  await until(async () => !(await alive()).alive, "the newest heartbeat has run out");
  expect(await alive()).toEqual({ alive: false, workers: 0 });
});

test("an extended batch is still lost with its worker's session", async () => {
  await noGrace();
  await session.query("select pgque.hold_session('s')");
  await send(a, "one");
  const { batch } = await receive(a, "c", 1, "1 hour", "w");
  await heartbeat("s");
  await a.query("select pgque.extend($1, '2 hours')", [batch]);
  await endSession();
  await maintain(a);
  expect(await drain(a)).toEqual(["one"]);
});

test("for half a minute after the server's start nobody is taken for dead: all sessions ended with it", async () => {
  await a.query(
    "create or replace function pgque.session_grace() returns interval language sql immutable return interval '1 day'",
  );
  await send(a, "one");
  const { batch } = await receive(a, "c", 1, "1 hour", "w");
  await heartbeat("s");
  await maintain(a);
  expect(await ack(a, batch)).toBe(1);
});

test("a session that maintains on the connection it holds does not take itself for dead", async () => {
  await noGrace();
  await a.query("select pgque.hold_session('s')");
  await send(a, "one");
  const { batch } = await receive(a, "c", 1, "1 hour", "w");
  await heartbeat("s");
  await maintain(a);
  expect(await ack(a, batch)).toBe(1);
});

test("a session is held once, and let go by whoever looks for it", async () => {
  const hold = async (client: pg.Client): Promise<boolean> =>
    (await client.query("select pgque.hold_session('s') as held")).rows[0].held;
  expect(await hold(session)).toBe(true);
  expect(await hold(a)).toBe(false);
  await endSession();
  await noGrace();
  await heartbeat("s");
  await a.query("select pgque.has_lost_session('w')");
  expect(await hold(a)).toBe(true);
});
