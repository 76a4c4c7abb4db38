import { describe, expect, test } from "vitest";
import type pg from "pg";
import { ownServer } from "../../../test/support/database.ts";
import { drain, maintain, makeQueue, receive, send } from "../support/queue.ts";

/** A server that writes nothing on its own account. */
const quiet = { wal_level: "minimal", max_wal_senders: 0, autovacuum: false, checkpoint_timeout: "1h" };

describe("An idle consumer polls without an xid and without WAL, however much it has to skip", () => {
  test("2,000 polls past an open transaction and the retries of others: one row at the most", async () => {
    await using database = await ownServer({ settings: quiet });
    const [client, other] = [await database.connect(), await database.connect()];
    await makeQueue(client, ["c", "d"], { rotation_min_interval: "1 hour" });
    await send(client, "one");
    await drain(client);
    await drain(client, "d");
    // another consumer's retry, and an open transaction: both are skipped
    await send(client, "two");
    const got = await receive(client, "d");
    await client.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
      got.batch,
      got.ids,
    ]);
    await drain(client);
    await other.query("begin");
    await send(other, "not committed");
    // the catalog pages that a first call touches are pruned once, after the creation of the queue
    for (let i = 0; i < 20; i++) await receive(client);
    for (let i = 0; i < 5; i++) await maintain(client);

    expect(
      await writtenBy(client, "batch_1", async () => {
        for (let i = 0; i < 2000; i++) expect((await receive(client)).payloads).toEqual([]);
      }),
    ).toBeLessThanOrEqual(1);
    await writtenBy(client, "delayed_soon_0_log", async () => {
      for (let i = 0; i < 20; i++) expect(await maintain(client)).toBe(0);
    });
    await other.query("rollback");
  });
});

async function position(client: pg.Client): Promise<{ lsn: string; xmax: string }> {
  const { rows } = await client.query(
    "select pg_current_wal_insert_lsn()::text as lsn, pg_snapshot_xmax(pg_current_snapshot())::text as xmax",
  );
  return rows[0];
}

/**
 * How many rows some work wrote into a table: cursors, when a look took more than 10 ms. Without any, the work has taken no
 * transaction id and has written no WAL.
 */
async function writtenBy(client: pg.Client, table: string, work: () => Promise<void>): Promise<number> {
  const count = async (): Promise<number> => (await client.query(`select from pgque.${table}`)).rowCount ?? 0;
  // counted first: the first count may prune catalog pages, which is WAL
  const [rows, before] = [await count(), await position(client)];
  await work();
  const after = await position(client);
  const written = (await count()) - rows;
  if (written === 0) expect(after).toEqual(before);
  return written;
}
