import { expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase } from "../../../test/support/database.ts";

const queues = 5;

test("what a session keeps for a queue that it has sent to, received from and acked is bounded: 76 statements and 2 MiB", async () => {
  // with other transactions open on the server, the statement for late messages is planned too
  await using database = await freshDatabase();
  const client = await database.connect();
  for (let n = 0; n <= queues; n++) {
    await client.query("select pgque.create_queue($1)", [`q${n}`]);
    await client.query(`select pgque.subscribe($1, 'c', '{"mode": "shared"}')`, [`q${n}`]);
  }
  // what serves all queues is there after the first
  await useQueue(client, 0);
  const before = await kept(client);
  for (let n = 1; n <= queues; n++) await useQueue(client, n);
  const after = await kept(client);
  expect((after.statements - before.statements) / queues).toBeLessThanOrEqual(76);
  expect((after.bytes - before.bytes) / queues).toBeLessThanOrEqual(2 * 1024 * 1024);
});

async function useQueue(client: pg.Client, n: number): Promise<void> {
  await client.query("select pgque.send($1, 'default', 'x'::text)", [`q${n}`]);
  const { rows } = await client.query("select pgque.ack(batch_id) as acked from pgque.receive_messages($1, 'c')", [
    `q${n}`,
  ]);
  expect(rows).toEqual([{ acked: 1 }]);
  // an empty poll
  expect((await client.query("select from pgque.receive_messages($1, 'c')", [`q${n}`])).rows).toEqual([]);
}

async function kept(client: pg.Client): Promise<{ bytes: number; statements: number }> {
  const { rows } = await client.query(
    `select sum(total_bytes)::float8 as bytes, (count(*) filter (where name = 'CachedPlanSource'))::int as statements
       from pg_backend_memory_contexts`,
  );
  return rows[0];
}
