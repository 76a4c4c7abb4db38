import { expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase } from "../../../test/support/database.ts";
import { ack, makeQueue, receive } from "../support/queue.ts";

/**
 * Buffers that a statement touches, planning included: the least of many, after others have compiled the functions. DDL of tests beside this one
 * makes a session read its catalogs anew, so some calls touch more.
 */
async function buffersOf(client: pg.Client, call: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 20; i++) {
    const { rows } = await client.query(`explain (analyze, buffers, format json) select * from pgque.${call}`);
    const plan = rows[0]["QUERY PLAN"][0].Plan;
    expect(plan["Actual Rows"]).toBe(10);
    if (i > 1) least = Math.min(least, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
  }
  return least;
}

// a plan that scans or sorts touches every page: more than 200 in a table of 20,000 messages
for (const known of ["missing", "stale", "fresh"]) {
  test(`ten messages are looked at by index alone, at a backlog of 20,000 with ${known} statistics`, async () => {
    await using database = await freshDatabase();
    const client = await database.connect();
    await makeQueue(client, ["c"], { rotation_bytes: 1_000_000_000 });
    const analyze = "analyze pgque.message_1, pgque.message_1_0, pgque.batch_1_0, pgque.delayed_soon_0";
    if (known === "stale") await client.query(analyze);
    await client.query("select pgque.send_batch('q', array_fill('x'::text, array[20000]))");
    await client.query(
      `select pgque.send_batch('q', 't', array_fill('x'::text, array[1000]), null, jsonb_build_object('delay', n)) from generate_series(600, 609) as n`,
    );
    if (known === "fresh") await client.query(analyze);
    await ack(client, (await receive(client, "c", 1000)).batch);
    // in hundreds of batches, none of which it is to look into
    for (let i = 0; i < 400; i++) await receive(client, "c", 10);
    expect(await buffersOf(client, "peek('q', 'c')")).toBeLessThan(100);
    expect(await buffersOf(client, "peek('q')")).toBeLessThan(100);
    const { rows } = await client.query(`select "position" from pgque.peek('q', max_messages => 1000) offset 999`);
    expect(await buffersOf(client, `peek('q', after => '${rows[0].position}')`)).toBeLessThan(100);
    expect(await buffersOf(client, `peek('q', after => 'delayed.1.0.0')`)).toBeLessThan(100);
    expect(await buffersOf(client, `peek('q', 'c', after => 'delayed.1.0.0')`)).toBeLessThan(100);
  });
}
