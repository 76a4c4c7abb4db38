import { Pgque } from "@pgque/client";
import { Throttle } from "#src/connection/beside-pool";
import type { Fields } from "@pgque/worker";
import type pg from "pg";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, silent, startWorker, unfinished } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

/** A handler of a pool that fails on the connections that are not the pool's. */
function failing(pool: pg.Pool, fail: () => unknown): () => number {
  let calls = 0;
  pool.on("connect", (client) => {
    // the pool has those that it made in its own list by then
    const { _clients: own } = pool as unknown as { _clients: pg.Client[] };
    if (own.includes(client)) return undefined;
    calls += 1;
    return fail();
  });
  return () => calls;
}

const ways: Record<string, () => unknown> = {
  throws: () => {
    throw new Error("no such tenant");
  },
  rejects: () => Promise.reject(new Error("no such tenant")),
};

for (const [how, fail] of Object.entries(ways)) {
  test(`a connect handler that ${how} on the connection beside the pool is warned of once, with what to do, and work goes on`, async () => {
    const pool = database.pool();
    const calls = failing(pool, fail);
    const own = new Pgque(pool);
    const warnings: { message: string; fields: Fields | undefined }[] = [];
    const warn = (message: string, fields?: Fields): void => void warnings.push({ message, fields });
    const queue = await freshQueue(pgque);
    const { open, passed } = gate();
    const handle = (): Promise<void> => passed;
    await startWorker(own, queue, handle, { log: { ...silent, warn }, leaseMs: 1000, heartbeatIntervalMs: 100 });
    await pgque.send(queue, 1);
    await until(() => calls() > 4, "it is tried again, to listen and for heartbeats");
    open();
    await until(async () => (await unfinished(pgque, queue)).open === 0, "the message is acked");
    expect(warnings).toMatchObject([
      {
        message: expect.stringMatching(/^a `connect` handler of the pool fails .* make it work on any connection/),
        fields: { error: expect.objectContaining({ message: "no such tenant" }) },
      },
    ]);
    expect((await unfinished(pgque, queue)).dead).toBe(0);
  });
}

test("what an async handler does is waited for before the connection is used", async () => {
  const pool = database.pool();
  const name: (client: pg.PoolClient) => unknown = async (client) => {
    // one of the pool's may end with the test
    await client.query("select pg_sleep(0.1)").catch(() => undefined);
    await client.query("set application_name = 'after a while'").catch(() => undefined);
  };
  pool.on("connect", name);
  const worker = await startWorker(new Pgque(pool), await freshQueue(pgque), () => undefined);
  await until(() => worker.health().waiting === "listening", "it listens");
  const { rows } = await pgque.pool.query(
    `select a.application_name from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.mode = 'ShareLock' and a.datname = current_database()`,
  );
  expect(rows).toEqual([{ application_name: "after a while" }]);
});

test("what is throttled is said again after its interval, and not before", () => {
  const throttle = new Throttle(60_000);
  expect([0, 1, 59_999, 60_000, 60_001, 119_999, 120_000].map((nowMs) => throttle.isDue(nowMs))).toEqual([
    true,
    false,
    false,
    true,
    false,
    false,
    true,
  ]);
});
