import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { Client } from "pg";
import { defineQueue, Pgque } from "@pgque/client";
import { until } from "../../../test/support/until.ts";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const jobs = defineQueue("jobs");
await pgque.ensure(jobs);
await pgque.subscribe(jobs);
const holder: Client = await database.connect();
const observer: Client = await database.connect();

afterEach(async () => {
  await holder.query("rollback");
});

async function hold(): Promise<void> {
  await holder.query("begin");
  await holder.query("lock table pgque.message_1 in access exclusive mode");
}

/** A client whose statements wait 50 ms for a lock; `failures` counts the connections that failed and were thrown away. */
function impatient(options: { retryForMs?: number } = {}): { own: Pgque; failures: () => number } {
  const pool = database.pool({ options: "-c search_path= -c lock_timeout=50ms" });
  let failures = 0;
  pool.on("remove", () => (failures += 1));
  return { own: new Pgque(pool, options), failures: () => failures };
}

const payloads = async (): Promise<unknown[]> => {
  const batch = await pgque.receive(jobs);
  await batch.ack();
  return batch.messages.map((m) => m.payload);
};

async function terminateWaiting(): Promise<void> {
  await until(async () => {
    const { rowCount } = await observer.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rowCount === 1;
  }, "a statement waits, and its connection is ended");
}

test("a statement that waited too long for a lock is run again, and has its effect once", async () => {
  const { own, failures } = impatient({ retryForMs: 60_000 });
  await own.maintain();
  await hold();
  const sending = own.send(jobs, "in the end");
  await until(() => failures() >= 2, "it has failed twice");
  await holder.query("rollback");
  await sending;
  expect(await payloads()).toEqual(["in the end"]);
});

test("when the time is up the failure comes as the driver threw it", async () => {
  await hold();
  for (const retryForMs of [0, 150]) {
    const { own } = impatient({ retryForMs });
    await expect(own.send(jobs, "never")).rejects.toMatchObject({ code: "55P03", severity: "ERROR" });
  }
  const aborter = new AbortController();
  const { own: patient, failures } = impatient({ retryForMs: 60_000 });
  const sending = patient.send(jobs, "never", { signal: aborter.signal });
  await until(() => failures() >= 1, "it has failed");
  const reason = new Error("no more");
  aborter.abort(reason);
  await expect(sending).rejects.toBe(reason);
});

test("a statement timeout comes as the driver threw it: it is the application's limit", async () => {
  await hold();
  const own = new Pgque(database.pool({ statement_timeout: 50 }), { retryForMs: 3_600_000 });
  await expect(own.send(jobs, "never")).rejects.toMatchObject({ code: "57014", severity: "ERROR" });
});

test("in the caller's transaction nothing is run again: that is the caller's to do", async () => {
  await hold();
  const { own, failures } = impatient({ retryForMs: 60_000 });
  const tx = await own.pool.connect();
  await tx.query("begin");
  await expect(own.inTransaction(tx).send(jobs, "never")).rejects.toMatchObject({ code: "55P03" });
  await tx.query("rollback");
  await expect(own.on(tx).send(jobs, "never")).rejects.toMatchObject({ code: "55P03" });
  tx.release();
  expect(failures()).toBe(0);
});

test("a connection that is lost during a send is reported: it may have been sent", async () => {
  await hold();
  const sending = failure(pgque.send(jobs, "perhaps"));
  await terminateWaiting();
  const error = await sending;
  expect([error.code, error.details.sqlstate]).toEqual(["CONNECTION_LOST", "57P01"]);
});

test("a send with a dedupe key is run again, for a second one sends nothing", async () => {
  await hold();
  const sending = pgque.send(jobs, "once", { dedupeKey: "k" });
  await terminateWaiting();
  await holder.query("rollback");
  const { id } = await sending;
  expect(await pgque.send(jobs, "once", { dedupeKey: "k" })).toEqual({ id, deduplicated: true });
  expect(await payloads()).toEqual(["once"]);
});

test("a send with a dedupe key that may run out meanwhile is not run again", async () => {
  const stuck = [
    () => pgque.send(jobs, "perhaps", { dedupeKey: "short", dedupeTtlMs: 5000 }),
    () => pgque.sendMany(jobs, ["perhaps"], { dedupeKeys: ["short"], dedupeTtlMs: 5000 }),
  ];
  for (const send of stuck) {
    await hold();
    const sending = failure(send());
    await terminateWaiting();
    await holder.query("rollback");
    expect((await sending).code).toBe("CONNECTION_LOST");
  }
  expect(await payloads()).toEqual([]);
});

test("a send that replaces or postpones is not run again: the first try may be with a worker", async () => {
  const reminders = defineQueue("reminders", { allowCancel: true });
  await pgque.ensure(reminders);
  for (const ifWaiting of ["replace", "postpone"] as const) {
    await holder.query("begin");
    await holder.query("lock table pgque.message_2 in access exclusive mode");
    const sending = failure(pgque.send(reminders, "perhaps", { dedupeKey: "k", delayMs: 0, ifWaiting }));
    await terminateWaiting();
    await holder.query("rollback");
    expect((await sending).code).toBe("CONNECTION_LOST");
  }
});

test("a connection whose primary has become a standby is given up for another", async () => {
  const pool = database.pool({ max: 1 });
  const own = new Pgque(pool);
  await own.maintain();
  await pool.query("set session characteristics as transaction read only");
  await own.send(jobs, "on the new primary");
  expect(await payloads()).toEqual(["on the new primary"]);
  const stubborn = await pool.connect();
  await stubborn.query("begin read only");
  expect((await failure(own.on(stubborn).ensure("new"))).code).toBe("READ_ONLY");
  stubborn.release(true);
});

test("a server that cannot be reached is waited for, once it has been", async () => {
  const { port } = new URL(database.url);
  await using proxy = await startProxy(Number(port));
  const url = new URL(database.url);
  url.port = String(proxy.port);
  await using own = new Pgque(url.href, { retryForMs: 60_000 });
  await own.maintain();
  await proxy.close();
  await until(() => own.pool.totalCount === 0, "the pool knows that its connection is gone");
  let refused = 0;
  const poolConnect = own.pool.connect.bind(own.pool);
  own.pool.connect = ((...args: never[]) => {
    refused += 1;
    return Reflect.apply(poolConnect, undefined, args);
  }) as typeof own.pool.connect;
  const sending = own.send(jobs, "in the end");
  await until(() => refused > 1, "it has tried again");
  await proxy.open();
  await sending;
  expect(await payloads()).toEqual(["in the end"]);
  await proxy.close();
  const impatientOnce = new Pgque(url.href, { retryForMs: 60_000 });
  expect((await failure(impatientOnce.maintain())).code, "a first connection is more likely wrong").toBe(
    "DATABASE_UNREACHABLE",
  );
  await impatientOnce.close();
});

/** Forwards to the database, while it is open. */
async function startProxy(
  target: number,
): Promise<AsyncDisposable & { port: number; open(): Promise<void>; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const database = connect(target, "127.0.0.1");
    for (const end of [socket, database]) {
      sockets.add(end);
      end.on("error", () => undefined);
    }
    socket.pipe(database).pipe(socket);
  });
  const open = async (port = 0): Promise<void> => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await open();
  const { port } = server.address() as AddressInfo;
  return { port, open: () => open(port), close, [Symbol.asyncDispose]: close };
}
