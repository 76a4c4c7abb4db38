import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { drain, fillSegment, maintain, makeQueue, ring } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

let database: OwnServer;
let worker: pg.Client;
let holder: pg.Client;

beforeAll(async () => {
  database = await ownServer();
  [worker, holder] = [await database.connect(), await database.connect()];
  await makeQueue(worker);
  await worker.query("create table public.elsewhere (i int)");
});
afterAll(() => database.drop());

const holders: { name: string; hold: string[]; letGo: string[] }[] = [
  {
    name: "a snapshot without a transaction id",
    hold: ["begin isolation level repeatable read", "select count(*) from public.elsewhere"],
    letGo: ["commit"],
  },
  {
    name: "an idle transaction with a transaction id",
    hold: ["begin", "insert into public.elsewhere values (1)"],
    letGo: ["commit"],
  },
  {
    name: "a prepared transaction",
    hold: ["begin", "insert into public.elsewhere values (1)", "prepare transaction 'held'"],
    letGo: ["commit prepared 'held'"],
  },
];

for (const { name, hold, letGo } of holders) {
  test(`with the horizon held by ${name}, drained segments are truncated and disk use stays bounded`, async () => {
    for (const statement of hold) await holder.query(statement);
    const { rows } = await worker.query(
      `select coalesce((select age(backend_xmin) from pg_stat_activity where state like 'idle in%' and backend_xmin is not null limit 1), -1) as snapshot,
              coalesce((select age(backend_xid) from pg_stat_activity where state like 'idle in%' and backend_xid is not null limit 1), -1) as writer,
              coalesce((select age(transaction) from pg_prepared_xacts limit 1), -1) as prepared`,
    );
    expect(
      Math.max(rows[0].snapshot, rows[0].writer, rows[0].prepared),
      "somebody holds the horizon",
    ).toBeGreaterThanOrEqual(0);

    const sizes: number[] = [];
    for (let round = 0; round < 10; round++) {
      const sent = await fillSegment(worker, `round ${round}`);
      expect(await drain(worker)).toEqual(sent);
      await maintain(worker);
      const { bytes } = await ring(worker);
      sizes.push(bytes.reduce((sum, size) => sum + size, 0));
      expect(bytes).toHaveLength(3);
    }
    expect(Math.max(...sizes)).toBeLessThan(3 * 40 * 1024);
    for (const statement of letGo) await holder.query(statement);
    expect(await updatesAndDeletes(worker)).toEqual([]);
  });
}
