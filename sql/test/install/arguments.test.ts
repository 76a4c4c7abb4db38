import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  client = await database.connect();
  await client.query(
    `select pgque.create_queue('q', '{"payload_bytes_max": 100}'), pgque.subscribe('q', 'c', '{"mode": "shared"}')`,
  );
});
afterAll(() => database.drop());

const refused: [call: string, code: string, message: string][] = [
  ["create_queue('')", "PQ004", "expected the queue name to have 1 to 57 bytes, got: '' (0 bytes)"],
  ["create_queue(null)", "PQ004", "expected the queue name to have 1 to 57 bytes, got: NULL"],
  ["create_queue(repeat('ü', 29))", "PQ004", "(58 bytes)"],
  ["create_queue('x', '[]')", "PQ004", "expected the options of a queue to be a JSON object, got: []"],
  ["create_queue('x', '{\"retries\": 1}')", "PQ004", "unknown option of a queue: 'retries'"],
  [
    "create_queue('x', '{\"max_retries\": -1}')",
    "PQ004",
    "expected max_retries to be an integer from 0 to 32000, got: -1",
  ],
  ["create_queue('x', '{\"max_retries\": \"many\"}')", "PQ004", 'from 0 to 32000, got: "many"'],
  [
    "create_queue('x', '{\"rotation_period\": \"soon\"}')",
    "PQ004",
    'expected rotation_period to be longer than 0 and at most 100 years, got: "soon"',
  ],
  ["subscribe('nowhere', 'c')", "PQ001", "queue not found: nowhere"],
  ["subscribe('q', '')", "PQ004", "expected the consumer name to have 1 to 57 bytes"],
  [`subscribe('q', 'd', '{"from": "nowhere"}')`, "PQ004", 'expected from to be "earliest", "latest" or a time'],
  [
    "subscribe('q', 'd', '{\"mode\": \"own\"}')",
    "PQ004",
    'expected mode to be exclusive, shared or ordered, or null, got: "own"',
  ],
  [
    "subscribe('q', 'd', '{\"on_failure\": \"skip\"}')",
    "PQ004",
    'expected on_failure for a consumer with mode "ordered" alone',
  ],
  ["send('nowhere', 'x')", "PQ001", "queue not found: nowhere"],
  ["send(null, 'x')", "PQ001", "queue not found: NULL"],
  ["send('q', repeat('x', 101))", "PQ004", "payload too large: expected at most 100 bytes, got: 101"],
  ["send('q', 't', 'x', '{\"prio\": 1}')", "PQ004", "unknown option of a send: 'prio'"],
  ["send('q', 't', 'x', '{\"headers\": 1}')", "PQ004", "expected headers to be a JSON object, got: 1"],
  ["send('q', null, 'x')", "PQ004", "expected a message type, got: NULL"],
  ["send_batch('q', null, array['x'])", "PQ004", "expected a message type, got: NULL"],
  ["send_batch('q', null::text[])", "PQ004", "expected payloads to be an array of one dimension, got: NULL"],
  [
    "send_batch('q', array[['x'], ['y']])",
    "PQ004",
    "expected payloads to be an array of one dimension, got: [1:2][1:1]",
  ],
  ["send_batch('q', array['x', repeat('x', 101)])", "PQ004", "payload too large"],
  [
    "send_batch('q', 't', array['x', 'y'], array['{}'::jsonb])",
    "PQ004",
    "expected as many headers as payloads (2), got: 1",
  ],
  ["receive('nowhere', 'c')", "PQ001", "queue not found: nowhere"],
  ["receive('q', 'nobody')", "PQ002", "consumer not registered: nobody"],
  ["receive('q', 'c', 0)", "PQ004", "expected max to be an integer from 1 to 100000, got: 0"],
  ["receive('q', 'c', null)", "PQ004", "got: NULL"],
  ["receive_messages('q', 'c', lease => '-1 s')", "PQ004", "expected the lease to be longer than 0 and at most 7 days"],
  ["receive_messages('q', 'c', lease => null)", "PQ004", "got: NULL"],
  [
    "nack(batch_id => 1, message_ids => '{1}', retry_after => null)",
    "PQ004",
    "expected retry_after to be from 0 to 100 years, got: NULL",
  ],
  ["nack(batch_id => 1, message_ids => null)", "PQ004", "expected an array of message ids without NULL"],
  ["snooze(1, '{1}', '-1 s')", "PQ004", "expected snooze_after to be from 0 to 100 years, got: -00:00:01"],
  ["snooze(1, '{1}', null)", "PQ004", "expected snooze_after to be from 0 to 100 years, got: NULL"],
  ["snooze(1, null, '1 s')", "PQ004", "expected an array of message ids without NULL"],
  ["bury(1, array[null::bigint])", "PQ004", "expected an array of message ids without NULL"],
  [
    "settle(1, snooze_ids => '{2}', snooze_after => '{101 years}')",
    "PQ004",
    "expected snooze_after to be from 0 to 100 years, got: 101 years",
  ],
  [
    "settle(1, snooze_ids => '{1,2}', snooze_after => '{1 s}')",
    "PQ004",
    "expected as many snooze_after as snooze_ids (2), got: 1",
  ],
  ["settle(1, snooze_after => '{1 s}')", "PQ004", "expected as many snooze_after as snooze_ids (0), got: 1"],
  [
    "settle(1, dead_ids => '{1,2}', dead_reasons => '{x}')",
    "PQ004",
    "expected as many dead_reasons as dead_ids (2) or none, got: 1",
  ],
  ["settle(1, dead_ids => array[null::bigint])", "PQ004", "expected an array of message ids without NULL"],
  [
    "settle(1, '{1,2}', '{1 s,1 s}', release_ids => '{3}', snooze_ids => '{2}', snooze_after => '{1 s}', dead_ids => '{3,4}')",
    "PQ004",
    "expected retry_ids, release_ids, snooze_ids and dead_ids to have no message in common, got more than once: 2, 3",
  ],
  ["heartbeat(null)", "PQ004", "expected a worker name"],
  ["heartbeat('w', '0 s')", "PQ004", "expected a worker name and a ttl"],
  ["maintain('nowhere')", "PQ001", "queue not found: nowhere"],
  ["max_retries('nowhere')", "PQ001", "queue not found: nowhere"],
  ["option_differences('nowhere', '{}')", "PQ001", "queue not found: nowhere"],
  ["option_differences('q', '[]')", "PQ004", "expected the options of option_differences to be a JSON object, got: []"],
  ["skipped_messages('nowhere', 'c')", "PQ001", "queue not found: nowhere"],
  ["deliver_delayed('nowhere')", "PQ001", "queue not found: nowhere"],
  ["deliver_delayed('q', consumer => 'nobody')", "PQ002", "consumer not registered: nobody"],
  ["deliver_delayed('q', null)", "PQ004", "expected until to be a time, and within to be 0 or longer, got: NULL, NULL"],
  ["deliver_delayed('q', 'infinity', '-1 s')", "PQ004", "got: infinity, -00:00:01"],
  ["drop_queue('q')", "PQ004", "queue 'q' has consumers: c"],
];

describe("bad input is refused with our SQLSTATE, what was expected and what was found", () => {
  for (const [call, code, message] of refused) {
    test(call, async () => {
      await expect(client.query(`select * from pgque.${call}`)).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      });
    });
  }
});

describe("names and payloads", () => {
  const hostile = ["日本 😀", "'; drop schema pgque cascade; --", 'a"b', "$$", "%s %I", "\\", " ", "a\nb"];
  for (const name of hostile) {
    test(`may be ${JSON.stringify(name)}`, async () => {
      expect((await client.query("select pgque.create_queue($1) as created", [name])).rows[0].created).toBe(1);
      await client.query(`select pgque.subscribe($1, $1, '{"mode": "shared"}')`, [name]);
      await client.query("select pgque.send($1, $2, $3::text, $4)", [name, name, name, { headers: { [name]: name } }]);
      await client.query("select pgque.send_batch($1, $2, $3::text[])", [name, name, [name]]);
      const { rows } = await client.query("select * from pgque.receive_messages($1, $1)", [name]);
      expect(rows.map((row) => [row.type, row.payload])).toEqual([
        [name, name],
        [name, name],
      ]);
      expect(rows[0].headers).toEqual({ [name]: name });
      expect((await client.query("select pgque.ack($1) as done", [rows[0].batch_id])).rows[0].done).toBe(1);
      await client.query("select pgque.drop_queue($1, true)", [name]);
    });
  }

  test("with a NUL are refused by the server, and lose nothing", async () => {
    await expect(client.query("select pgque.send('q', $1::text)", ["a\0b"])).rejects.toMatchObject({ code: "22021" });
  });

  test("of many queues are found, each its own", async () => {
    const names = Array.from({ length: 40 }, (_, i) => `queue ${(i * 7) % 40}`);
    for (const name of names)
      await client.query(`select pgque.create_queue($1), pgque.subscribe($1, 'c', '{"mode": "shared"}')`, [name]);
    for (const name of names) await client.query("select pgque.send($1, $1)", [name]);
    for (const name of names) {
      const { rows } = await client.query("select payload from pgque.receive($1, 'c')", [name]);
      expect(rows).toEqual([{ payload: name }]);
    }
    await client.query("select pgque.drop_queue($1, true)", [names[3]]);
    await expect(client.query("select pgque.send($1, 'x')", [names[3]])).rejects.toMatchObject({ code: "PQ001" });
  });

  test("a payload may be NULL, empty or jsonb, which is stored in its canonical text", async () => {
    await client.query(
      "select pgque.send('q', null::text), pgque.send('q', ''), pgque.send('q', '{\"b\":1,  \"a\":2}'::jsonb)",
    );
    const { rows } = await client.query("select payload from pgque.receive('q', 'c')");
    expect(rows.map((row) => row.payload)).toEqual([null, "", '{"a": 2, "b": 1}']);
  });

  test("ids come in the order of the payloads, and an empty batch sends nothing", async () => {
    const { rows } = await client.query(
      "select pgque.send_batch('q', array['a', 'b', 'c']) as ids, pgque.send_batch('q', '{}'::text[]) as none",
    );
    expect(rows[0].none).toEqual([]);
    const received = await client.query("select msg_id, payload from pgque.receive('q', 'c')");
    expect(received.rows.map((row) => [row.msg_id, row.payload])).toEqual(
      (rows[0].ids as string[]).map((id, i) => [id, "abc"[i]]),
    );
  });

  test("creating, subscribing, unsubscribing and dropping say what they did", async () => {
    const { rows } = await client.query("select pgque.create_queue('again') as a");
    expect(rows[0].a).toBe(1);
    const calls = [
      "create_queue('again')",
      "subscribe('again', 'c')",
      "subscribe('again', 'c')",
      "unsubscribe('again', 'c')",
      "unsubscribe('again', 'c')",
      "drop_queue('again')",
      "drop_queue('again')",
    ];
    const said: number[] = [];
    for (const call of calls) said.push((await client.query(`select pgque.${call} as said`)).rows[0].said);
    expect(said).toEqual([0, 1, 0, 1, 0, 1, 0]);
  });
});
