import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { ack, fillSegment, maintain, makeQueue, receive } from "../support/queue.ts";

// Rights to one queue, as their holders have them. One server for all; each test has a database of its own, and its roles are dropped.

let server: OwnServer;
let database: TestDatabase;
let owner: pg.Client;
let app: pg.Client;

beforeAll(async () => {
  server = await ownServer();
});
afterAll(() => server.drop());

beforeEach(async () => {
  database = await server.fresh();
  owner = await database.connect();
  app = await database.connect();
  await makeQueue(owner);
  await owner.query("select pgque.create_queue('other')");
  await owner.query("create role app");
  await app.query("set role app");
});
afterEach(async () => {
  await database.drop();
  const admin = await server.connect();
  await admin.query(`drop role if exists app, boss, writer, clerk, "We""ird %s 'Röle'"`);
});

const grant = (queue: string, privilege: string) =>
  owner.query("select pgque.grant_queue($1, 'app', $2)", [queue, privilege]);
const revoke = (queue: string, privilege: string) =>
  owner.query("select pgque.revoke_queue($1, 'app', $2)", [queue, privilege]);
const denied = expect.objectContaining({ code: "42501" });

/** What of a queue's the role may do now: nothing is refused that it needs, everything that it does not. */
async function may(queue: string): Promise<string[]> {
  const calls = {
    send: ["send($1, 'x')", "send_batch($1, '{x}'::text[])", "insert_event($1, 't', 'x')"],
    receive: ["receive($1, 'c')", "subscribe($1, 'c')", "has_open_senders($1)", "unsubscribe($1, 'nobody')"],
  };
  const found: string[] = [];
  for (const [privilege, tried] of Object.entries(calls)) {
    const refused: boolean[] = [];
    for (const call of tried) {
      const code = await app.query(`select pgque.${call}`, [queue]).then(
        () => "",
        (error) => error.code,
      );
      expect(code).toMatch(/^$|42501|PQ002/);
      refused.push(code === "42501");
    }
    expect(new Set(refused).size, `${privilege}: all or nothing`).toBe(1);
    if (!refused[0]) found.push(privilege);
  }
  return found;
}

test("a role has what it was granted, of that queue alone, until it is revoked", async () => {
  expect(await may("q")).toEqual([]);
  await grant("q", "send");
  expect([await may("q"), await may("other")]).toEqual([["send"], []]);
  await grant("other", "receive");
  expect([await may("q"), await may("other")]).toEqual([["send"], ["receive"]]);
  await grant("q", "receive");
  await grant("q", "receive");
  expect(await may("q")).toEqual(["send", "receive"]);
  await revoke("q", "send");
  expect([await may("q"), await may("other")]).toEqual([["receive"], ["receive"]]);
  await revoke("other", "receive");
  expect([await may("q"), await may("other")]).toEqual([["receive"], []]);
  await revoke("q", "receive");
  expect([await may("q"), await may("other")]).toEqual([[], []]);
  // nothing is left of it
  await owner.query("drop role app");
});

test("grants outlive the growth of the ring and a change of the queue, and end with the queue", async () => {
  await grant("q", "send");
  await grant("q", "receive");
  for (let i = 0; i < 5; i++) {
    await fillSegment(owner);
    await maintain(owner);
  }
  expect((await owner.query("select pgque.segment_count(1) as n")).rows[0].n).toBeGreaterThan(3);
  await owner.query("select pgque.set_queue_config('q', 'payload_bytes_max', '1000')");
  expect(await may("q")).toEqual(["send", "receive"]);
  await owner.query("select pgque.drop_queue('q', true), pgque.create_queue('q')");
  expect(await may("q")).toEqual([]);
});

test("members of the schema's roles have every queue, those that come later too", async () => {
  await owner.query("grant pgque_writer to app");
  await owner.query("select pgque.create_queue('later')");
  expect([await may("q"), await may("later")]).toEqual([["send"], ["send"]]);
  await owner.query("grant pgque_reader to app; revoke pgque_writer from app");
  await owner.query("select pgque.create_queue('latest')");
  expect([await may("q"), await may("latest")]).toEqual([["receive"], ["receive"]]);
});

test("a member of pgque_admin grants queues, and creates ones that the other roles can use", async () => {
  await owner.query("create role boss in role pgque_admin; create role writer in role pgque_writer");
  const boss = await database.connect();
  await boss.query("set role boss");
  await boss.query("select pgque.create_queue('its own'), pgque.grant_queue('its own', 'app', 'receive')");
  expect(await may("its own")).toEqual(["receive"]);
  await boss.query("set role writer");
  await boss.query("select pgque.send('its own', 'x')");
  const { rows } = await app.query("select payload from pgque.receive('its own', 'c')");
  expect(rows).toEqual([{ payload: "x" }]);
});

test("who is refused learns which queue it is, and what would help", async () => {
  await grant("other", "receive");
  await expect(app.query("select pgque.subscribe('q', 'd')")).rejects.toMatchObject({
    code: "42501",
    message: "permission denied for queue q: role app may not receive from it",
    hint: "select grant_queue('q', 'app', 'receive')",
  });
  await expect(app.query("select pgque.create_queue('mine')")).rejects.toMatchObject({
    code: "42501",
    message: "permission denied: role app may not administer queues",
    hint: "Members of pgque_admin may.",
  });
});

test("nobody can call in another's name", async () => {
  await grant("other", "receive");
  for (const name of ["'postgres'", "'postgres'::name", "null"]) {
    await expect(app.query(`select pgque.subscribe('q', 'd', caller => ${name})`)).rejects.toMatchObject({
      code: expect.stringMatching(/^23/),
    });
  }
  await expect(app.query("select pgque.subscribe('q', 'd', caller => 'app')")).rejects.toEqual(denied);
  // nor keep a name for later: the type is nobody's to use
  await expect(app.query("create temporary table kept as select 'app'::pgque.caller as who")).rejects.toEqual(denied);
});

test("nor in nobody's: a subquery without rows is a null that no check sees", async () => {
  await grant("other", "send");
  await owner.query("select pgque.schedule('s', 'q', '* * * * *', '1')");
  const nobody = "caller => (select null::pgque.caller where false)";
  for (const call of [
    `create_queue('mine', ${nobody})`,
    `run_schedule('s', date_trunc('minute', now()), ${nobody})`,
    `subscribe('q', 'd', ${nobody})`,
  ])
    await expect(app.query(`select pgque.${call}`), call).rejects.toEqual(denied);
});

test("who may receive from one queue settles no batch of another", async () => {
  await grant("other", "receive");
  await fillSegment(owner);
  const { batch } = await receive(owner);
  expect((await app.query("select pgque.ack_2($1) as done", [batch])).rows).toEqual([{ done: 0 }]);
  expect(await ack(owner, batch)).toBe(1);
});

test("a SECURITY DEFINER function of an application settles by its owner's rights, not by those of who calls it", async () => {
  await grant("q", "receive");
  await owner.query(`
    create schema app authorization app;
    set role app;
    create function app.work() returns int language plpgsql security definer set search_path = '' as $$
    declare
      batch bigint;
      ids bigint[];
    begin
      select min(batch_id), array_agg(msg_id) into batch, ids from pgque.receive('q', 'c');
      return pgque.nack(batch, ids, '0 s');
    end $$;
    reset role;
    create role clerk;
    grant usage on schema app, pgque to clerk;
    grant execute on function app.work() to clerk;
    select pgque.send('q', 'x');
  `);
  const clerk = await database.connect();
  await clerk.query("set role clerk");
  expect((await clerk.query("select app.work() as given")).rows).toEqual([{ given: 1 }]);
  await expect(clerk.query("select * from pgque.receive('q', 'c')")).rejects.toEqual(denied);
});

test("a prepared statement asks each time: a grant that is gone is missed", async () => {
  await grant("q", "receive");
  const seek = { name: "seek", text: "select pgque.seek('q', 'c', 'latest')" };
  for (let i = 0; i < 6; i++) await app.query(seek);
  await revoke("q", "receive");
  await grant("other", "receive");
  await expect(app.query(seek)).rejects.toEqual(denied);
});

test("a grant waits for maintenance that writes the queue's functions anew, and neither fails", async () => {
  await owner.query("select pgque.set_queue_config('q', 'rotation_bytes', '8192')");
  const rotator = await database.connect();
  for (let i = 0; i < 2; i++) {
    await fillSegment(rotator);
    await maintain(rotator);
  }
  // as much as in all others together
  for (let i = 0; i < 3; i++) await fillSegment(rotator);
  await rotator.query("begin");
  await maintain(rotator);
  expect((await rotator.query("select pgque.segment_count(1) as n")).rows[0].n).toBe(4);
  const granted = await blocked(await database.connect(), owner, "select pgque.grant_queue('q', 'app', 'send')");
  await rotator.query("commit");
  await granted.result;
  expect(await may("q")).toEqual(["send"]);
});

test("a transaction that began before its queue may use it, once it is granted", async () => {
  await grant("other", "send");
  await grant("other", "receive");
  await app.query("begin");
  await app.query("select pgque.send('other', 'x')");
  await owner.query(`select pgque.create_queue('new'), pgque.subscribe('new', 'c', '{"mode": "shared"}')`);
  await grant("new", "send");
  await grant("new", "receive");
  await app.query("select pgque.send('new', 'x')");
  await app.query("commit");
  const { rows } = await app.query("select batch_id from pgque.receive('new', 'c')");
  expect((await app.query("select pgque.ack($1) as done", [rows[0].batch_id])).rows).toEqual([{ done: 1 }]);
});

const refused: [call: string, code: string, message: string][] = [
  ["grant_queue('nowhere', 'app', 'send')", "PQ001", "queue not found: nowhere"],
  ["grant_queue('q', 'nobody', 'send')", "PQ004", "role not found: nobody"],
  ["grant_queue('q', 'public', 'send')", "PQ004", "role not found: public"],
  ["grant_queue('q', null, 'send')", "PQ004", "role not found: NULL"],
  ["grant_queue('q', 'app', 'read')", "PQ004", "expected the privilege to be send or receive, got: 'read'"],
  ["revoke_queue('q', 'app', null)", "PQ004", "expected the privilege to be send or receive, got: NULL"],
  ["grant_queue('q', 'pgque_writer', 'receive')", "PQ004", "expected a role of your own, got: pgque_writer"],
  ["revoke_queue('q', 'pgque_reader', 'receive')", "PQ004", "expected a role of your own, got: pgque_reader"],
];

test("what cannot be granted is refused", async () => {
  for (const [call, code, message] of refused)
    await expect(owner.query(`select pgque.${call}`), call).rejects.toMatchObject({ code, message });
});

test("a role of any name can be granted a queue", async () => {
  await owner.query(`create role "We""ird %s 'Röle'"`);
  await owner.query("select pgque.grant_queue('q', $1, 'send')", [`We"ird %s 'Röle'`]);
  await app.query(`reset role; set role "We""ird %s 'Röle'"`);
  expect(await may("q")).toEqual(["send"]);
  await owner.query("select pgque.revoke_queue('q', $1, 'send')", [`We"ird %s 'Röle'`]);
  expect(await may("q")).toEqual([]);
});

test("who may only send reads the results of messages whose reply header it knows, and of its queue alone", async () => {
  const replyTo = "0123456789abcdef";
  const { rows } = await owner.query("select pgque.send('q', 't', '1', $1) as id", [
    { headers: { "pgque-reply-to": replyTo } },
  ]);
  const { batch, ids } = await receive(owner);
  const ackIt = "select pgque.ack_with_results($1, $2, '{1}')";
  const result = async (token: string | null): Promise<unknown[]> =>
    (await app.query("select result from pgque.result('q', $1, 'c', $2)", [rows[0].id, token])).rows;
  await expect(result(replyTo)).rejects.toEqual(denied);
  await grant("other", "receive");
  await expect(result(replyTo)).rejects.toEqual(denied);
  await expect(app.query(ackIt, [batch, ids])).rejects.toEqual(denied);
  await grant("q", "send");
  await owner.query(ackIt, [batch, ids]);
  await expect(result(null)).rejects.toEqual(denied);
  expect(await result("0000000000000000")).toEqual([]);
  expect(await result(replyTo)).toEqual([{ result: "1" }]);
  await grant("q", "receive");
  expect(await result(null)).toEqual([{ result: "1" }]);
});
