import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let client: pg.Client;
beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
});
afterEach(() => database.drop());

const maintenance = async () => (await client.query("select * from pgque.maintenance_status()")).rows[0];
const lost = async () => (await client.query("select * from pgque.lost_batches()")).rows;

test("a schema that is new has been seen to just now, and nothing is overdue", async () => {
  const { rows } = await client.query("select now() - interval '1 hour' as hour_ago");
  const { is_same_cluster, seen_at, overdue_since } = await maintenance();
  expect({ is_same_cluster, overdue_since }).toEqual({ is_same_cluster: true, overdue_since: null });
  expect(seen_at.getTime()).toBeGreaterThan(rows[0].hour_ago.getTime());
});

test("a delayed message is overdue from its time until maintain delivers it", async () => {
  await makeQueue(client);
  await client.query(`select pgque.send('q', 't', 'near', '{"delay": "50 minutes"}')`);
  expect((await maintenance()).overdue_since).toBeNull();
  const { rows } = await client.query(
    "update pgque.delayed_soon_0 set due_at = clock_timestamp() - interval '1 s' returning due_at",
  );
  expect((await maintenance()).overdue_since).toEqual(rows[0].due_at);
  await client.query("select pgque.maintain()");
  expect((await maintenance()).overdue_since).toBeNull();
});

test("maintenance is seen again when somebody calls it, however long nobody has", async () => {
  const hourAgo = "((extract(epoch from clock_timestamp() - interval '1 hour') * 1000)::bigint << 10)";
  await client.query(`select setval('pgque.heartbeat_pointer', ${hourAgo})`);
  const before = (await maintenance()).seen_at;
  await client.query("select pgque.maintain()");
  expect((await maintenance()).seen_at.getTime()).toBeGreaterThan(before.getTime());
});

test("batches are lost once their lease has ended and their worker is dead, until maintain gives them back", async () => {
  await makeQueue(client, ["c", "d"]);
  await send(client, "x");
  await client.query("select pgque.heartbeat('alive', '1 hour')");
  await receive(client, "d", 1, "1 ms", "alive");
  await receive(client, "c", 1, "1 ms", "dead");
  await until(async () => (await lost()).length > 0, "a batch is lost");
  expect(await lost()).toEqual([{ queue_name: "q", consumer: "c", batches: 1, lost_since: expect.any(Date) }]);
  await client.query("select pgque.maintain()");
  expect(await lost()).toEqual([]);
});

test("a schema that was copied row by row is not this cluster's", async () => {
  await client.query("update pgque.cluster_identity set system_identifier = 1");
  expect((await maintenance()).is_same_cluster).toBe(false);
});

test.each([
  ["a heartbeat", "update pgque.heartbeat set written_at = written_at + interval '1 hour'"],
  [
    "a scheduled run",
    "insert into pgque.scheduled_run values (0, 's', '2030-01-01', clock_timestamp() + interval '1 hour')",
  ],
  [
    "a pointer",
    "select setval('pgque.segment_pointer_1', pg_sequence_last_value('pgque.segment_pointer_1') + (3600000::bigint << 10))",
  ],
])("the clock is behind when %s was written in the future", async (_, write) => {
  await makeQueue(client);
  await client.query("select pgque.heartbeat('w')");
  expect((await maintenance()).clock_behind).toBeNull();
  await client.query(write);
  expect((await maintenance()).clock_behind).toMatchObject({ minutes: 59, seconds: 59 });
});
