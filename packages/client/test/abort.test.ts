import { beforeEach, expect, test } from "vitest";
import type { Client } from "pg";
import { defineQueue, Pgque } from "@pgque/client";
import { Proxy } from "../../../test/support/proxy.ts";
import { until } from "../../../test/support/until.ts";
import { freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const jobs = defineQueue("jobs");
await pgque.ensure(jobs);
await pgque.subscribe(jobs);
const holder: Client = await database.connect();
const observer: Client = await database.connect();
const reason = new Error("the request was closed");

/** Holds what every send needs, until the test is over or says otherwise. */
async function hold(): Promise<void> {
  await holder.query("begin");
  await holder.query("lock table pgque.message_1 in access exclusive mode");
}

async function waiting(): Promise<number> {
  const { rows } = await observer.query(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows[0].n;
}

const payloads = async (): Promise<unknown[]> => {
  const batch = await pgque.receive(jobs);
  await batch.ack();
  return batch.messages.map((m) => m.payload);
};

beforeEach(() => async () => {
  await holder.query("rollback");
});

test("a call whose signal is aborted already does nothing", async () => {
  await using own = new Pgque(database.url);
  const signal = AbortSignal.abort(reason);
  for (const call of [
    () => own.send(jobs, 1, { signal }),
    () => own.sendMany(jobs, [1], { signal }),
    () => own.sendStream(jobs, [1], { signal }),
    () => own.receive(jobs, { signal }),
    () => own.batches(jobs, { signal }).next(),
    () => own.ack("1", undefined, { signal }),
    () => own.nack("1", ["1"], { signal }),
    () => own.settle("1", { signal }),
    () => own.extend("1", 1000, { signal }),
    () => own.ensure(jobs, { signal }),
    () => own.subscribe(jobs, "c", { signal }),
    () => own.maintain(jobs, { signal }),
    () => own.queues.pause(jobs, { signal }),
  ])
    await expect(call()).rejects.toBe(reason);
  expect(own.pool.totalCount).toBe(0);
});

test("a call that is under way is cancelled in the database, and has had no effect", async () => {
  await hold();
  const aborter = new AbortController();
  const sending = pgque.send(jobs, "never", { signal: aborter.signal });
  await until(async () => (await waiting()) === 1, "the send waits");
  aborter.abort(reason);
  await expect(sending).rejects.toBe(reason);
  await until(async () => (await waiting()) === 0, "nothing waits any more");
  await holder.query("rollback");
  expect(await payloads()).toEqual([]);
  await pgque.send(jobs, "after");
  expect(await payloads()).toEqual(["after"]);
});

test("a call whose cancellation the database does not confirm is not said to have had no effect", async () => {
  await using proxy = await Proxy.start(Number(new URL(database.url).port));
  await using own = new Pgque({ connectionString: proxy.through(database.url), max: 1 });
  await own.maintain();
  await hold();
  const aborter = new AbortController();
  const sending = own.send(jobs, "perhaps", { signal: aborter.signal });
  await until(async () => (await waiting()) === 1, "the send waits");
  proxy.goDumb({ serverKnows: false });
  aborter.abort(reason);
  await expect(sending).rejects.toMatchObject({ code: "CONNECTION_LOST", cause: reason });
  await holder.query("rollback");
  await until(async () => (await waiting()) === 0, "the statement has gone on");
  expect(await payloads()).toEqual(["perhaps"]);
});

test("a call that waits for a connection of the pool gives up, and the pool is none the worse", async () => {
  await using own = new Pgque({ connectionString: database.url, max: 1 });
  const only = await own.pool.connect();
  const aborter = new AbortController();
  const sending = own.send(jobs, "never", { signal: aborter.signal });
  await until(() => own.pool.waitingCount === 1, "the send waits for a connection");
  aborter.abort(reason);
  await expect(sending).rejects.toBe(reason);
  only.release();
  await own.send(jobs, "next");
  expect(await payloads()).toEqual(["next"]);
});

test("a call that is done when its signal is aborted returns what it did", async () => {
  const aborter = new AbortController();
  const { id } = await pgque.send(jobs, "done", { signal: aborter.signal });
  aborter.abort(reason);
  expect(id).toMatch(/^\d+$/);
  expect(await payloads()).toEqual(["done"]);
});

test("a signal that is used for many calls is not held on to", async () => {
  const { signal } = new AbortController();
  const events: string[] = [];
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => (events.push("added"), add(...args));
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (events.push("removed"), remove(...args));
  for (let i = 0; i < 3; i += 1) await pgque.send(jobs, i, { signal });
  expect(events.filter((e) => e === "added")).toHaveLength(events.filter((e) => e === "removed").length);
  await payloads();
});

test("what runs in the caller's transaction is not cancelled: that would break the transaction", async () => {
  await hold();
  const tx = await database.connect();
  await tx.query("begin");
  const aborter = new AbortController();
  const sending = pgque.inTransaction(tx).send(jobs, "sent", { signal: aborter.signal });
  await until(async () => (await waiting()) === 1, "the send waits");
  aborter.abort(reason);
  await holder.query("rollback");
  await sending;
  await expect(pgque.inTransaction(tx).send(jobs, "not begun", { signal: aborter.signal })).rejects.toBe(reason);
  await tx.query("commit");
  expect(await payloads()).toEqual(["sent"]);
});

test("one that still waits for its turn in the transaction is not sent", async () => {
  await hold();
  const tx = await database.connect();
  await tx.query("begin");
  const aborter = new AbortController();
  const first = pgque.inTransaction(tx).send(jobs, "first");
  await until(async () => (await waiting()) === 1, "the first send waits for a lock");
  const second = pgque.inTransaction(tx).send(jobs, "second", { signal: aborter.signal });
  const refused = expect(second).rejects.toBe(reason);
  aborter.abort(reason);
  await holder.query("rollback");
  await Promise.all([first, refused]);
  await tx.query("commit");
  expect(await payloads()).toEqual(["first"]);
});

test("a call whose payloads are being checked gives up", async () => {
  const checking = Promise.withResolvers<void>();
  const forever = new Promise<never>(() => undefined);
  const validate = () => (checking.resolve(), forever);
  const slow = defineQueue("jobs", { payload: { "~standard": { version: 1, vendor: "test", validate } } });
  for (const call of [
    (signal: AbortSignal) => pgque.send(slow, 1, { signal }),
    (signal: AbortSignal) => pgque.sendMany(slow, [1], { signal }),
    (signal: AbortSignal) => pgque.sendStream(slow, [1], { signal }),
    (signal: AbortSignal) => pgque.schedules.set("s", slow, "* * * * *", 1, { signal }),
  ]) {
    const aborter = new AbortController();
    const sending = call(aborter.signal);
    await checking.promise;
    aborter.abort(reason);
    await expect(sending).rejects.toBe(reason);
  }
});

test("a stream whose onSent does not come to an end gives up", async () => {
  const aborter = new AbortController();
  const forever = new Promise<never>(() => undefined);
  const onSent = () => (aborter.abort(reason), forever);
  await expect(pgque.sendStream(jobs, [1], { signal: aborter.signal, onSent })).rejects.toBe(reason);
  expect(await payloads()).toEqual([1]);
});

test("a call whose signal is aborted just as it gets its connection gives up", async () => {
  const own = new Pgque(database.pool());
  await own.maintain();
  await hold();
  type Connected = Parameters<typeof own.pool.connect>[0];
  const connect = own.pool.connect.bind(own.pool) as (connected: Connected) => void;
  for (let turns = 0; turns < 10; turns += 1) {
    const aborter = new AbortController();
    const abortLater = async () => {
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      aborter.abort(reason);
    };
    own.pool.connect = ((connected: Connected) =>
      connect((...result) => {
        void abortLater();
        connected(...result);
      })) as typeof own.pool.connect;
    await expect(own.send(jobs, "never", { signal: aborter.signal })).rejects.toBe(reason);
  }
});

test("a timeout is a signal, too", async () => {
  await hold();
  await expect(pgque.send(jobs, "late", { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
    name: "TimeoutError",
  });
});
