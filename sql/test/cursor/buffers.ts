import { expect } from "vitest";
import type pg from "pg";
import { ownServer } from "../../../test/support/database.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive } from "../support/queue.ts";
import { buffersOfReceive } from "../support/statistics.ts";

/** Receives of a queue with little in it, after an hour of rotations every 30 s under one snapshot, and with a backlog on top. */
export async function touchesTheSameBuffers(backlog: number): Promise<void> {
  await using database = await ownServer();
  const [client, holder] = [await database.connect(), await database.connect()];
  await makeQueue(client);
  // once round, so that nothing is new
  await rotate(client, 6);
  const { buffers } = await measure(client, 500);
  await holder.query("begin isolation level repeatable read");
  // of something else: a lock on the segments would keep them
  await holder.query("select count(*) from pg_type");
  await rotate(client, 120);
  expect((await measure(client, 500)).buffers, "with a horizon of an hour").toBeLessThanOrEqual(1.2 * buffers);
  const large = await measure(client, backlog);
  expect(large.messages).toBe(100);
  expect(large.buffers, "and with a backlog").toBeLessThanOrEqual(1.2 * buffers);
  await holder.query("commit");
}

async function rotate(client: pg.Client, times: number): Promise<void> {
  for (let rotation = 0; rotation < times; rotation++) {
    await fillSegment(client);
    for (let got = await receive(client, "c", 10); got.ids.length > 0; got = await receive(client, "c", 10))
      await ack(client, got.batch);
    await maintain(client);
  }
}

/** Buffers of a receive of 100 with this backlog. What is measured is acked afterwards, and a small backlog drained. */
async function measure(client: pg.Client, backlog: number): Promise<{ buffers: number; messages: number }> {
  for (let sent = 0; sent < backlog; sent += 50_000)
    await client.query("select pgque.send_batch('q', array_fill('x'::text, array[$1::int]))", [
      Math.min(backlog, 50_000),
    ]);
  await ack(client, (await receive(client, "c", 100)).batch);
  const measured = await buffersOfReceive(client);
  await client.query("select pgque.ack(batch_id) from pgque.open_batches(1)");
  if (backlog < 1000) await drain(client);
  return measured;
}
