import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";

let database: TestDatabase;
let a: pg.Client;
beforeAll(async () => {
  database = await freshDatabase();
  a = await database.connect();
  await a.query(
    `select pgque.create_queue('plain'), pgque.create_queue('key', '{"partitions": 16}'), pgque.create_queue('priority', '{"priorities": 10}')`,
  );
});
afterAll(() => database.drop());

test.each([
  ['{"partitions": 4, "priorities": 4}', "expected partitions or priorities, got both"],
  ['{"priorities": "colour"}', 'expected priorities to be an integer from 1 to 1024, or null, got: "colour"'],
  ['{"partitions": 1025}', "expected partitions to be an integer from 1 to 1024, or null, got: 1025"],
  ['{"partitions": 16, "low_priority_every": 5}', "expected low_priority_every together with priorities"],
  ['{"priorities": 10, "low_priority_every": 1}', "expected low_priority_every to be an integer from 2 to"],
])("a queue with %s is refused", async (options, message) => {
  await expect(a.query("select pgque.create_queue('q', $1)", [options])).rejects.toMatchObject({
    code: "PQ004",
    message: expect.stringContaining(message),
  });
});

test.each([
  ["plain", "send('q', 't', 'x', '{\"priority\": 1}')", "queue 'plain' has no priorities"],
  ["plain", "send('q', 't', 'x', '{\"key\": \"k\"}')", "queue 'plain' has no keys"],
  ["key", "send('q', 't', 'x', '{\"priority\": 1}')", "queue 'key' has no priorities"],
  ["priority", "send_batch('q', 't', array['x'], null, '{\"keys\": [\"k\"]}')", "queue 'priority' has no keys"],
  ["priority", "send('q', 't', 'x', '{\"priority\": 10}')", "expected priority to be an integer from 0 to 9, got: 10"],
  ["priority", "send('q', 't', 'x', '{\"priority\": -1}')", "expected priority to be an integer from 0 to 9, got: -1"],
  [
    "priority",
    "send('q', 't', 'x', '{\"priority\": 1.5}')",
    "expected priority to be an integer from 0 to 9, got: 1.5",
  ],
  [
    "priority",
    "send('q', 't', 'x', '{\"priority\": \"1\"}')",
    'expected priority to be an integer from 0 to 9, got: "1"',
  ],
  ["key", "send('q', 't', 'x', '{\"key\": 1}')", "expected key to be a string of at most 1000 bytes, got: 1"],
  ["key", "send('q', 't', 'x', jsonb_build_object('key', repeat('ü', 501)))", "expected key to be a string of at most"],
  ["key", "send_batch('q', 't', array['x'], null, '{\"keys\": [\"k\", \"l\"]}')", "expected keys to be an array of 1"],
  [
    "key",
    "send_batch('q', 't', array['x'], null, '{\"keys\": [\"k\"], \"key\": \"l\"}')",
    "expected key or keys, got both",
  ],
])("on a queue by %s, %s is refused", async (queue, call, message) => {
  await expect(a.query(`select pgque.${call.replace("'q'", `'${queue}'`)}`)).rejects.toMatchObject({
    code: "PQ004",
    message: expect.stringContaining(message),
  });
});

test("an ordered consumer needs a queue with keys", async () => {
  await expect(a.query(`select pgque.subscribe('plain', 'c', '{"mode": "ordered"}')`)).rejects.toMatchObject({
    code: "PQ004",
    message: "queue 'plain' has no keys to order by",
  });
});
