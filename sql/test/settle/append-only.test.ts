import { describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { ack, drain, fillSegment, maintain, makeQueue, receive, ring } from "../support/queue.ts";
import { messagesInserted, updatesAndDeletes } from "../support/statistics.ts";

describe("No table outside the registry is updated or deleted from", () => {
  test("by any way that a message, a batch, a worker or a segment can go", async () => {
    await using database = await freshDatabase();
    const [client, observer] = [await database.connect(), await database.connect()];
    await makeQueue(client, ["c", "d"], { max_retries: 1 });
    await hurryDelayed(client);
    for (let round = 0; round < 5; round++) await everyWay(client);
    await drainBoth(client);
    const letters = await client.query("select from pgque.dead_letter");
    expect(letters.rowCount, "some died").toBeGreaterThan(0);
    expect((await ring(client)).bytes.filter((size) => size === 0).length, "segments were truncated").toBeGreaterThan(
      0,
    );
    // a session's statistics are there when it is gone
    await client.end();
    await until(async () => (await messagesInserted(observer)) > 500, "its statistics have arrived");
    expect(await updatesAndDeletes(observer)).toEqual([]);
  });
});

/** Sent alone, in batches and delayed; acked, nacked, settled, released, snoozed, buried; leases that end and that a heartbeat keeps; a rollback. */
async function everyWay(client: pg.Client): Promise<void> {
  await fillSegment(client);
  await client.query(`
    select pgque.send('q', 'one'), pgque.send('q', 't', 'soon', '{"delay": 0.01}'), pgque.send('q', 't', 'later', '{"delay": 1}')`);
  await client.query(
    "begin; select pgque.send('q', 'undone'); savepoint s; select pgque.send('q', 'undone'); rollback to s; rollback",
  );
  await client.query("select pgque.heartbeat('w', '20 ms')");
  const lost = await receive(client, "c", 3, "1 ms", "w");
  const odd = await receive(client, "c", 5);
  await client.query("select pgque.snooze($1, $2::bigint[], '10 ms'), pgque.bury($1, $3::bigint[], 'hopeless')", [
    odd.batch,
    odd.ids.slice(0, 1),
    odd.ids.slice(1, 2),
  ]);
  await client.query("select pgque.settle($1, snooze_ids => $2, snooze_after => '{0 s}', dead_ids => $3)", [
    odd.batch,
    odd.ids.slice(2, 3),
    odd.ids.slice(3, 4),
  ]);
  const some = await receive(client, "c", 5);
  await client.query("select pgque.ack($1, $2)", [some.batch, some.ids.slice(0, 1)]);
  await client.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '10 ms')", [
    some.batch,
    some.ids.slice(1, 3),
  ]);
  await client.query("select pgque.settle($1, retry_ids => $2, retry_after => '{0 s}', release_ids => $3)", [
    some.batch,
    some.ids.slice(3, 4),
    some.ids.slice(4),
  ]);
  await until(async () => {
    await maintain(client);
    const { rows } = await client.query("select from pgque.open_batches(1) where batch_id = $1", [lost.batch]);
    return rows.length === 0;
  }, "the lease has ended");
  expect(await ack(client, lost.batch)).toBe(0);
  await drainBoth(client);
}

/** What comes a second time dies for c. */
async function drainBoth(client: pg.Client): Promise<void> {
  for (let got = await receive(client); got.ids.length > 0; got = await receive(client)) {
    const doomed = got.ids.filter((_, i) => got.attempts[i] === 2);
    await client.query("select pgque.nack(batch_id => $1, message_ids => $2)", [got.batch, doomed]);
    if (doomed.length < got.ids.length) await ack(client, got.batch);
  }
  await drain(client, "d");
  for (let i = 0; i < 3; i++) await maintain(client);
}

describe("… nor with every feature in use", () => {
  test("keys and priorities, dedupe keys, expiry, limits, schedules, blocked and skipped failures", async () => {
    await using database = await freshDatabase();
    const [client, observer] = [await database.connect(), await database.connect()];
    const options = { rotation_bytes: 8192, rotation_min_interval: "0 s", allow_expiry: true, max_retries: 2 };
    await client.query("select pgque.create_queue('q', $1)", [{ ...options, partitions: 4 }]);
    await client.query("select pgque.create_queue('p', $1)", [{ ...options, priorities: 10, low_priority_every: 3 }]);
    await client.query(`
      select pgque.subscribe('q', 'c', '{"mode": "ordered", "max_in_flight": 50}'),
             pgque.subscribe('q', 'd', '{"mode": "ordered", "on_failure": "skip"}'),
             pgque.subscribe('p', 'e', '{"mode": "shared", "rate_limit": 1000000}'),
             pgque.schedule('s', 'p', '* * * * *', options => '{"priority": 3}')`);
    await hurryDelayed(client);
    for (let round = 0; round < 5; round++) await everyFeature(client, round);
    expect((await ring(client)).bytes.length, "segments were truncated").toBeLessThan(8);
    await client.end();
    await until(async () => (await messagesInserted(observer)) > 500, "its statistics have arrived");
    expect(await updatesAndDeletes(observer)).toEqual([]);
  });
});

async function everyFeature(client: pg.Client, round: number): Promise<void> {
  const payloads = Array.from({ length: 60 }, (_, i) => `${i} ${"x".repeat(150)}`);
  const keys = payloads.map((_, i) => (i % 7 === 0 ? null : `key ${i % 5}`));
  await client.query("select pgque.send_batch('q', 't', $1::text[], null, $2)", [payloads, { keys }]);
  await client.query("select pgque.send_batch('q', 't', $1::text[], null, $2)", [
    ["gone"],
    { key: "k", expires_at: "2020-01-01" },
  ]);
  for (const [key, delay] of [
    ["once", 0],
    ["once", 0],
    [`each ${round}`, 0.01],
  ])
    await client.query("select pgque.send('q', 't', 'x', $1)", [{ dedupe_key: key, delay, key: "k", dedupe_ttl: 60 }]);
  await client.query("select pgque.send_batch('p', 't', $1::text[], null, $2)", [payloads, { priority: round }]);
  await client.query("select pgque.run_schedule('s', date_trunc('second', clock_timestamp()) - $1 * interval '1 s')", [
    round,
  ]);

  for (const consumer of ["c", "d"]) {
    const failed = await receive(client, consumer, 5);
    await client.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '1 ms')", [
      failed.batch,
      failed.ids.slice(0, 1),
    ]);
    // of the one who skips; the other's batch ended with the failure
    await ack(client, failed.batch);
    const odd = await receive(client, consumer, 5);
    if (odd.ids.length > 0)
      await client.query(
        "select pgque.settle($1, snooze_ids => $2, snooze_after => array_fill(interval '1 ms', array[cardinality($2::bigint[])]), dead_ids => $3)",
        [odd.batch, odd.ids.slice(1, 2), odd.ids.slice(0, 1)],
      );
    await receive(client, consumer, 5, "1 ms");
    const released = await receive(client, consumer, 5);
    if (released.ids.length > 0)
      await client.query("select pgque.settle($1, release_ids => $2)", [released.batch, released.ids.slice(1)]);
  }
  await until(async () => {
    await client.query("select pgque.maintain()");
    for (const consumer of ["c", "d"]) await drain(client, consumer);
    for (;;) {
      const { rows } = await client.query(
        "select pgque.ack(max(batch_id)) from pgque.receive_messages('p', 'e') having count(*) > 0",
      );
      if (rows.length === 0) break;
    }
    const { rows } = await client.query(
      "select (select sum(depth + in_flight) from pgque.consumer_status()) + (select sum(delayed) from pgque.queue_status()) as left",
    );
    return Number(rows[0].left) === 0;
  }, "all is settled");
  for (let i = 0; i < 6; i++) await client.query("select pgque.maintain()");
}
