import type { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { ack, makeQueue, receive } from "../support/queue.ts";

// What is kept beside a payload has a limit: headers when they are sent, reasons when they are stored.

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await freshDatabase();
  client = await database.connect();
  await makeQueue(client, ["c"], { max_retries: 0 });
});
afterEach(() => database.drop());

/** Headers that take so many bytes as the text of a jsonb. */
const headersOf = (bytes: number): { h: string } => ({ h: "x".repeat(bytes - '{"h": ""}'.length) });

const refused = {
  code: "PQ004",
  message: "headers too large: expected at most 65536 bytes as JSON text, got: 65537",
  hint: "Store it in the payload, or elsewhere and send a reference.",
};

test("headers of 64 KiB are sent, larger ones are refused by every way to send", async () => {
  const send = (headers: object) => client.query("select pgque.send('q', 't', 'p', $1)", [{ headers }]);
  const sendBatch = (headers: object) =>
    client.query("select pgque.send_batch('q', 't', '{a,b}'::text[], array[null, $1::jsonb])", [headers]);
  for (const way of [send, sendBatch]) {
    await way(headersOf(65_536));
    await expect(way(headersOf(65_537))).rejects.toMatchObject(refused);
  }
});

test("a schedule is refused whose scheduled run would have headers that are too large", async () => {
  const schedule = (headers: object) =>
    client.query("select pgque.schedule('nightly', 'q', '* * * * *', 'p'::text, $1)", [{ headers }]);
  await expect(schedule(headersOf(65_536))).rejects.toMatchObject({ code: "PQ004" });
  await schedule(headersOf(65_000));
  const { rows } = await client.query("select pgque.run_schedule('nightly', date_trunc('minute', now())) as id");
  expect(rows[0].id).not.toBeNull();
});

test.each([
  ["nack", "select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s', reason => $3)"],
  ["bury", "select pgque.bury($1, $2::bigint[], $3)"],
  ["settle", "select pgque.settle($1, dead_ids => $2::bigint[], dead_reasons => array[$3])"],
])("%s keeps 10,000 characters of a reason, and says that there were more", async (_, sql) => {
  for (const [reason, kept] of [
    ["é".repeat(10_000), "é".repeat(10_000)],
    ["é".repeat(10_001), `${"é".repeat(10_000)}… (truncated: 10000 of 10001 characters)`],
  ]) {
    await client.query("select pgque.send('q', 'p')");
    const got = await receive(client);
    await client.query(sql, [got.batch, got.ids, reason]);
    await ack(client, got.batch).catch(() => undefined);
    const { rows } = await client.query("select reason from pgque.dead_letters('q', max_messages => 1)");
    expect(rows).toEqual([{ reason: kept }]);
  }
});

test("a message with headers from before the limit is retried, recovered and sent again", async () => {
  const headers = headersOf(100_000);
  await client.query("insert into pgque.message_1_0 (seq, id, type, payload, headers) values (1, 1, 't', 'p', $1)", [
    headers,
  ]);
  const got = await receive(client);
  await client.query("select pgque.bury($1, $2::bigint[])", [got.batch, got.ids]);
  await client.query("select pgque.redrive('q')");
  const again = await receive(client);
  await client.query("select pgque.settle($1, release_ids => $2::bigint[])", [again.batch, again.ids]);
  const { rows } = await client.query("select headers from pgque.receive_messages('q', 'c')");
  expect(rows).toEqual([{ headers }]);
});
