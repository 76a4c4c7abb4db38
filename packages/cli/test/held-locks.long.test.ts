import type { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { createIntruder, intrude } from "../../../test/support/intruder.ts";
import { backendPid } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { illsOf, statementsOf } from "./support/doctor.ts";
import { pgque } from "./support/pgque.ts";

let server: OwnServer;
let client: Client;
beforeAll(async () => {
  server = await ownServer({ settings: { max_prepared_transactions: "5" } });
  client = await server.connect();
  await createIntruder(server);
});
afterAll(() => server.drop());

const purposes = [
  "cancel",
  "cursor",
  "delayed",
  "schedule",
  "heartbeat",
  "dedupe",
  "result",
  "step",
  "progress",
  "idle",
  "maintain",
  "registry",
  "subscribe",
];

test("a login without any right that holds every lock of a queue is named by status and doctor, which end it", async () => {
  await client.query("select pgque.create_queue('orders'), pgque.subscribe('orders', 'mail')");
  const { rows } = await client.query("select key from pgque.lock_purposes('postgres')");
  expect(await illsOf(server.url, "locks")).toEqual([]);
  const intruder = await intrude(server);
  await intruder.query("select pg_advisory_lock(key) from unnest($1::bigint[]) as key", [rows.map(({ key }) => key)]);
  const pid = await backendPid(intruder);
  await until(
    async () => (await client.query("select from pgque.held_locks()")).rowCount === purposes.length,
    "ten seconds have passed",
  );

  const told = await illsOf(server.url, "locks");
  expect(new Set(told.map(({ found }) => / held the lock "(\w+)"/.exec(found)?.[1]))).toEqual(new Set(purposes));
  const cursor = told.find(({ found }) => found.includes('"cursor"'));
  expect(cursor?.found).toMatch(
    new RegExp(
      `^process ${pid} \\(intruder, user mallory\\) has held the lock "cursor" of consumer "mail" of queue "orders" for \\d`,
    ),
  );
  expect(cursor?.why).toContain("the consumer receives nothing");

  const status = await pgque(["status"], { DATABASE_URL: server.url });
  expect(status.out).toMatch(
    new RegExp(
      `\nWarning: process ${pid} \\(intruder, user mallory\\) has held the lock "delayed" for \\d+s\\. pgque doctor says what to do\\.\n`,
    ),
  );
  const { locks } = JSON.parse((await pgque(["status", "--json"], { DATABASE_URL: server.url })).out);
  expect(locks.length).toBe(purposes.length);
  const { rows: lines } = await client.query("select status, detail from pgque.status() where component = 'locks'");
  expect(lines).toContainEqual({
    status: "warning",
    detail: expect.stringMatching(
      `^the lock 'cursor' of consumer 'mail' of queue 'orders' is held by process ${pid} \\(intruder, user mallory\\) since 20`,
    ),
  });

  await client.query(statementsOf(cursor!));
  await until(
    async () => (await client.query("select from pgque.held_locks('orders', '0 s')")).rowCount === 0,
    "it is gone",
  );
  expect(await illsOf(server.url, "locks")).toEqual([]);
});

test("a prepared transaction that holds one is named by its identifier, with the statement that ends it", async () => {
  await client.query("select pgque.create_queue('prepared')");
  const { rows } = await client.query(
    "select key from pgque.lock_purposes('postgres') where queue_name = 'prepared' and purpose = 'maintain'",
  );
  const intruder = await intrude(server);
  await intruder.query("begin");
  await intruder.query("select pg_advisory_xact_lock($1::bigint)", [rows[0].key]);
  await intruder.query("prepare transaction 'it''s forgotten'");
  await until(
    async () => (await client.query("select from pgque.held_locks('prepared', '1 s')")).rowCount === 1,
    "it is held",
  );
  const [told] = await illsOf(server.url, "locks", "--older-than", "1s");
  expect(told).toMatchObject({
    found: expect.stringMatching(
      /^prepared transaction "it's forgotten" has held the lock "maintain" of queue "prepared" for \d+s$/,
    ),
  });
  await client.query(statementsOf(told!));
  expect(await illsOf(server.url, "locks", "--older-than", "1s")).toEqual([]);
  await intruder.end();
});
