import type { Major } from "@pgque/postgres";
import { expect, test } from "vitest";
import { ownServer } from "../../../test/support/database.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring, send } from "../support/queue.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

/** All tests run on 17, and on the others in the long tier. */
test.each<Major>([14, 15, 16, 18])("the life of a message on PostgreSQL %i", async (major) => {
  await using database = await ownServer({ major });
  const client = await database.connect();
  await makeQueue(client, ["c", "d"]);
  const filler = await fillSegment(client);
  await send(client, "again", "later");
  await client.query(`select pgque.send('q', 'default', 'delayed'::text, '{"delay": 3600}')`);
  const got = await receive(client);
  expect(got.payloads).toEqual([...filler, "again", "later"]);
  await client.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
    got.batch,
    [got.ids[100]],
  ]);
  expect(await ack(client, got.batch)).toBe(1);
  expect(await drain(client)).toEqual(["again"]);
  await client.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '2 hours')");
  expect(await drain(client)).toEqual(["delayed"]);
  expect(await drain(client, "d")).toHaveLength(filler.length + 3);
  for (let i = 0; i < 4; i++) await maintain(client);
  expect((await ring(client)).bytes[0]).toBe(0);
  expect((await client.query("select * from pgque.consumer_status()")).rows).toMatchObject([
    { depth: "0" },
    { depth: "0" },
  ]);
  expect(await updatesAndDeletes(client)).toEqual([]);
});
