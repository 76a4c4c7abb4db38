import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { makeQueue, receive, send } from "../support/queue.ts";

// A role that may receive from one queue tries to run a function of its own with the rights of the owner of the schema: by temporary
// tables and views with the names that the engine's functions look for. Everybody may create those (TEMP is PUBLIC's).

let server: OwnServer;
let database: TestDatabase;
let owner: pg.Client;
let attacker: pg.Client;

beforeAll(async () => {
  server = await ownServer();
});
afterAll(() => server.drop());

beforeEach(async () => {
  database = await server.fresh();
  owner = await database.connect();
  await makeQueue(owner);
  await owner.query(`
    create role attacker;
    select pgque.grant_queue('q', 'attacker', 'receive');
    create schema theirs authorization attacker;
    create table public.ran (as_role name);
    grant insert on public.ran to public;
    -- only what the attacker may do anyway: a function in a schema of its own
    set role attacker;
    grant usage on schema theirs to public;
    create function theirs.run(result int) returns int language plpgsql volatile as $$
      begin
        insert into public.ran values (current_user);
        return result;
      end $$;
    create function theirs.run() returns trigger language plpgsql as $$
      begin
        insert into public.ran values (current_user);
        return new;
      end $$;
    reset role;
  `);
  attacker = await database.connect();
  await attacker.query("set role attacker");
});
afterEach(async () => {
  await database.drop();
  const admin = await server.connect();
  await admin.query("drop role if exists attacker");
});

/** Who ran the attacker's functions. */
const ran = async (): Promise<string[]> =>
  (await owner.query("select distinct as_role from public.ran")).rows.map((row) => row.as_role);

/** An id as it would have a batch of a queue in a segment. */
const idIn = (queue: number, segment: number): string =>
  String((1n << 36n) | (BigInt(queue) << 22n) | (BigInt(segment) << 12n) | 1n);

/** Temporary views and sequences in the place of the tables of a segment that is not there. */
const forge = (queue: number, segment: number): Promise<unknown> =>
  attacker.query(`
    create temp view batch_${queue}_${segment} as
      select ${idIn(queue, segment)}::bigint as id, theirs.run(1) as messages, ${segment}::smallint as segment, 1 as consumer_id, 0::smallint as lane,
             1::bigint as batch_no, 1::bigint as window_batch_no, '1:1:'::pg_snapshot as prev_snapshot, '9:9:'::pg_snapshot as next_snapshot,
             'w'::text as worker, now() as created_at, now() as lease_until, null::timestamptz as waits_until,
             '1'::xid8 as first_txid, 1::bigint as first_seq, '9'::xid8 as last_txid, 1::bigint as last_seq,
             null::bigint[] as remainder_ids, null::smallint[] as remainder_attempts;
    create temp view batch_${queue} as select * from batch_${queue}_${segment};
    create temp table outcome_${queue}_${segment} (segment smallint, batch_id bigint, n int, final boolean, message_ids bigint[], created_at timestamptz);
    create trigger run before insert on outcome_${queue}_${segment} for each row execute function theirs.run();
    create temp view message_${queue} as
      select '5'::xid8 as txid, 5::bigint as seq, 5::bigint as id, now() as created_at, null::int as consumer_id, theirs.run(1)::smallint as attempt,
             0::smallint as lane, null::text as key, null::timestamptz as expires_at, 't'::text as type, 'x'::text as payload, null::jsonb as headers;
    create temp sequence segment_pointer_${queue};
    create temp sequence message_seq_${queue};
    create temp sequence batch_seq_${queue};
  `);

const calls = (batch: string): string[] => [
  `ack(${batch})`,
  `ack_1(${batch})`,
  `ack_by_number(${batch})`,
  `ack(${batch}, '{5}')`,
  `ack_strict(${batch})`,
  `ack_strict(${batch}, '{5}')`,
  `nack(${batch}, '{5}'::bigint[])`,
  `nack(${batch}, '{5}'::bigint[], '0 s')`,
  `snooze(${batch}, '{5}', '1 s')`,
  `bury(${batch}, '{5}')`,
  `settle(${batch})`,
  `settle(${batch}, retry_ids => '{5}', retry_after => '{1 s}')`,
  `settle(${batch}, release_ids => '{5}')`,
  `settle(${batch}, dead_ids => '{5}')`,
  `extend(${batch})`,
  `finish_batch(${batch})`,
  `event_retry(${batch}, 5, 1)`,
];

test.each([
  ["of a queue that is not there", 9999, 0],
  ["of the attacker's queue, in a segment that is not there", 1, 500],
])("a batch id %s leads to no temporary view", async (_, queue, segment) => {
  await forge(queue, segment);
  for (const call of calls(idIn(queue, segment))) {
    const code = await attacker.query(`select pgque.${call}`).then(
      () => "",
      (error) => error.code,
    );
    expect(await ran(), call).toEqual([]);
    expect(code, call).toMatch(/^(|PQ003|PQ006)$/);
  }
});

test("a queue that is dropped during a call leaves no name that a temporary table could take", async () => {
  await send(owner, "x");
  const { batch } = await receive(attacker);
  const segment = (BigInt(batch) >> 12n) & 1023n;
  await attacker.query(`
    create temp table outcome_1_${segment} (segment smallint, batch_id bigint, n int, final boolean, message_ids bigint[], unique (batch_id, n, segment));
    create trigger run before insert on outcome_1_${segment} for each row execute function theirs.run();
    create temp table batch_1_${segment} as select ${batch}::bigint as id, 1 as messages`);
  await owner.query("begin; select pgque.drop_queue('q', true)");
  const other = await database.connect();
  const acked = await blocked(other, attacker, `select pgque.ack_1(${batch})`);
  await owner.query("commit");
  await expect(acked.result).rejects.toMatchObject({ code: "42P01" });
  expect(await ran()).toEqual([]);
});

test("a receive from a queue that is dropped under it reads no temporary table", async () => {
  await attacker.query(`
    create temp view batch_1 as select theirs.run(1) as id, 1 as consumer_id, 0 as lane, 1 as batch_no;
    create temp view message_1 as select theirs.run(1) as id`);
  const dropper = await database.connect();
  await dropper.query("begin; select pgque.drop_queue('q', true)");
  const received = await blocked(owner, attacker, "select * from pgque.receive_messages('q', 'c')");
  await dropper.query("commit");
  await expect(received.result).rejects.toMatchObject({ code: "42P01" });
  expect(await ran()).toEqual([]);
});
