import { randomInt } from "node:crypto";
import type pg from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { makeQueue, maintain } from "../support/queue.ts";

/** Out of a hundred. */
const chance = (percent: number): boolean => randomInt(100) < percent;

test("an exclusive consumer gets every message in order and settles it once, whatever its receivers do", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  await makeQueue(admin, [], { max_retries: 30_000 });
  await admin.query(`select pgque.subscribe('q', 'c', '{"from": "earliest", "mode": "exclusive"}')`);
  const messages = 6000;
  const done: number[] = [];
  const failed = new Set<number>();
  const sending = { isDone: false };

  /** One batch, and something that can happen to it. False: there was none. */
  const step = async (client: pg.Client): Promise<boolean> => {
    const lease = chance(20) ? "1 ms" : "1 min";
    const { rows } = await client.query(
      "select batch_id, message_id, payload::int as number from pgque.receive_messages('q', 'c', max_messages => $1, lease => $2)",
      [randomInt(1, 30), lease],
    );
    if (rows.length === 0) return false;
    const batch = rows[0].batch_id;
    const settled = async (query: string, values: unknown[]): Promise<boolean> =>
      (await client.query(`select pgque.${query} as settled`, values)).rows[0].settled > 0;
    const [first] = rows;
    const dice = randomInt(100);
    // a failed message leaves the stream and comes later
    if (dice < 10 && (await settled("nack($1, array[$2]::bigint[], '0 s')", [batch, first.message_id])))
      failed.add(first.number);
    else if (dice < 20) {
      // what is undone has not happened
      await client.query("begin");
      await client.query("savepoint before");
      await settled("ack($1)", [batch]);
      await client.query(chance(50) ? "rollback to before" : "rollback");
      await client.query("commit");
    } else if (dice < 30) {
      // the list says what was settled by this call: what others have settled meanwhile is not counted
      const ids = rows.slice(0, 2).map((row) => row.message_id);
      await client.query("begin");
      try {
        await client.query("select pgque.ack_strict($1, $2::bigint[])", [batch, ids]);
        // before the commit: after it others may have settled what follows before this session hears of it
        done.push(...rows.slice(0, 2).map((row) => row.number));
        await client.query("commit");
      } catch (error) {
        await client.query("rollback");
        expect(error).toMatchObject({ code: "PQ006" });
      }
    } else {
      await client.query("begin");
      // others have the same batch: until this commits they settle nothing of it
      await client.query("select from pgque.batch_1 where id = $1 for no key update", [batch]);
      const { rows: left } = await client.query(
        "select message_id, payload::int as number from pgque.messages_left($1, now()) order by message_id",
        [batch],
      );
      // what is released stays in its place
      const acked = chance(20) ? left.slice(0, 1) : left;
      const released = left.slice(acked.length).map((row) => row.message_id);
      if (await settled("settle($1, release_ids => $2::bigint[])", [batch, released]))
        done.push(...acked.map((row) => row.number));
      await client.query("commit");
    }
    return true;
  };

  const receive = async (): Promise<void> => {
    for (let client = await database.connect(); ;) {
      const isLast = sending.isDone;
      const hadSome = await step(client);
      if (!hadSome && isLast) return client.end();
      if (chance(1)) {
        // its open transaction ends with it
        await client.query("begin");
        await client.query("select * from pgque.receive_messages('q', 'c', lease => '1 ms')");
        await client.end();
        client = await database.connect();
      }
    }
  };
  const rotate = async (client: pg.Client): Promise<void> => {
    while (!sending.isDone) await maintain(client);
  };
  const send = async (client: pg.Client): Promise<void> => {
    for (let number = 0; number < messages; number += 10) {
      const payloads = Array.from({ length: 10 }, (_, i) => String(number + i));
      await client.query("select pgque.send_batch('q', $1::text[])", [payloads]);
    }
    sending.isDone = true;
  };
  await Promise.all([
    send(await database.connect()),
    rotate(await database.connect()),
    receive(),
    receive(),
    receive(),
  ]);
  // what failed last may have come while the others looked away
  while (await step(admin));

  expect(done.toSorted((one, other) => one - other)).toEqual(Array.from({ length: messages }, (_, i) => i));
  const inOrder = done.filter((number) => !failed.has(number));
  expect(inOrder).toEqual(inOrder.toSorted((one, other) => one - other));
  expect((await admin.query("select from pgque.open_batches(1)")).rowCount).toBe(0);
});
