import { expect } from "vitest";
import type pg from "pg";
import { freshDatabase } from "../../../test/support/database.ts";
import { ack, makeQueue, receive } from "../support/queue.ts";
import { buffersOfReceive } from "../support/statistics.ts";

/** What the planner may know of a segment's tables. */
export const statistics = ["missing", "stale", "fresh"] as const;

/**
 * A receive of 100 messages reads no more than its page and a look into each segment, whatever the backlog and whatever the statistics
 * say: a plan that sorts or scans would touch every page of the backlog.
 */
export async function receivesByIndex(backlog: number, known: (typeof statistics)[number]): Promise<void> {
  await using database = await freshDatabase();
  const client = await database.connect();
  await makeQueue(client, ["c"], { rotation_bytes: 1_000_000_000 });
  if (known === "stale") await analyze(client);
  for (let sent = 0; sent < backlog; sent += 10_000) {
    await client.query("select pgque.send_batch('q', array_fill('x'::text, array[10000]))");
  }
  if (known === "fresh") await analyze(client);
  // the first calls of a session compile the functions and plan
  for (let i = 0; i < 3; i++) await ack(client, (await receive(client, "c", 100)).batch);
  const got = await buffersOfReceive(client);
  expect(got.messages).toBe(backlog === 0 ? 0 : 100);
  expect(got.buffers, `buffers at a backlog of ${backlog} with ${known} statistics`).toBeLessThan(60);
}

async function analyze(client: pg.Client): Promise<void> {
  await client.query("analyze pgque.message_1, pgque.message_1_0, pgque.batch_1_0, pgque.outcome_1_0");
}
