import { expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase } from "../../../test/support/database.ts";
import { makeQueue, drain, maintain } from "../support/queue.ts";

test("repair under traffic neither deadlocks nor loses a message", async () => {
  await using database = await freshDatabase();
  const a = await database.connect();
  await makeQueue(a, ["c"], { max_retries: 1000 });
  const run = { ended: false };
  const sent = new Set<string>();
  const acked = new Set<string>();
  const worker = async (client: pg.Client, name: string): Promise<void> => {
    for (let i = 0; !run.ended; i += 1) {
      await client.query("select pgque.send('q', 't', $1)", [`${name} ${i}`]);
      await client.query("select pgque.send('q', 't', $1, $2)", [`${name} ${i} later`, { delay: 0.01 }]);
      sent.add(`${name} ${i}`).add(`${name} ${i} later`);
      // both ways round: what waits is written after a batch is settled, and before
      await client.query("begin");
      if (i % 2 === 0) await client.query("select pgque.send('q', 't', $1, $2)", ["filler", { delay: 0.01 }]);
      const { rows } = await client.query("select * from pgque.receive_messages('q', 'c', max_messages => 10)");
      const [first, ...others] = rows;
      if (first !== undefined) {
        const done = await client.query("select pgque.nack($1, $2::bigint[], '10 ms') as done", [
          first.batch_id,
          [first.message_id],
        ]);
        const rest = await client.query("select pgque.ack($1) as done", [first.batch_id]);
        await client.query("commit");
        if (done.rows[0].done !== 0 && rest.rows[0].done === 1) for (const { payload } of others) acked.add(payload);
      } else await client.query("commit");
      await maintain(client);
    }
  };
  const clients = await Promise.all(
    ["w", "x", "y", "z"].map(async (name) => [await database.connect(), name] as const),
  );
  const workers = clients.map(([client, name]) => worker(client, name));
  for (let i = 0; i < 3; i += 1) await a.query("select * from pgque.repair(true)");
  run.ended = true;
  await Promise.all(workers);
  // what is left, delayed and given back included
  await a.query("select pgque.deliver_delayed('q')");
  for (const payload of await drain(a)) acked.add(payload);
  expect([...sent].filter((payload) => !acked.has(payload))).toEqual([]);
});
