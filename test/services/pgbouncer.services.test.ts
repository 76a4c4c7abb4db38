import { defineQueue, Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { expect, test } from "vitest";
import { ownServer } from "../support/database.ts";
import { until } from "../support/until.ts";
import { startPgbouncer } from "./pgbouncer.ts";

test("client and worker work through pgbouncer in transaction mode", async () => {
  await using database = await ownServer();
  // two connections for everybody: whoever kept state in a session would find another's
  await using pgbouncer = await startPgbouncer(database.url, 2);
  const pgque = new Pgque(pgbouncer.url);
  try {
    const queue = defineQueue("through pgbouncer");
    const handled: unknown[] = [];
    await using worker = new Worker(pgque, queue, ({ payload }) => void handled.push(payload), {
      maintainIntervalMs: 100,
    });
    await worker.start();
    const payloads = Array.from({ length: 300 }, (_, i) => i);
    await Promise.all(payloads.map((payload) => pgque.send(queue, payload)));
    const client = await pgque.pool.connect();
    await client.query("begin");
    await pgque.inTransaction(client).send(queue, "not sent");
    await client.query("rollback");
    client.release();
    await until(() => handled.length >= payloads.length, "all are handled");
    expect(handled.toSorted((a, b) => Number(a) - Number(b))).toEqual(payloads);
    // of both connections to the server
    const counts = Array.from({ length: 8 }, async () => pgque.pool.query("select from pg_prepared_statements"));
    expect((await Promise.all(counts)).map(({ rowCount }) => rowCount)).toEqual(counts.map(() => 0));
  } finally {
    await pgque.close();
  }
});
