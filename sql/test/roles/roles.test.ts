import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";

// Who may call what, tried by calling. The queue is q; "stranger" may send to and receive from another one.

const roles = [
  "pgque_viewer",
  "pgque_reader",
  "pgque_writer",
  "pgque_admin",
  "sender",
  "receiver",
  "stranger",
  "nobody",
] as const;
type Role = (typeof roles)[number];

/** SQLSTATE insufficient_privilege. */
const denied = "42501";

const everybody: Role[] = [
  "pgque_viewer",
  "pgque_reader",
  "pgque_writer",
  "pgque_admin",
  "sender",
  "receiver",
  "stranger",
];
const senders: Role[] = ["pgque_writer", "pgque_admin", "sender"];
const receivers: Role[] = ["pgque_reader", "pgque_admin", "receiver"];
/** What is not about one queue. */
const receiversOfAny: Role[] = [...receivers, "stranger"];
/** Whoever may do something with the queue. */
const users: Role[] = everybody.filter((role) => role !== "stranger" && role !== "pgque_viewer");
const readers: Role[] = ["pgque_reader", "pgque_admin"];
const viewers: Role[] = ["pgque_viewer", ...readers];
const admins: Role[] = ["pgque_admin"];

const calls: [allowed: Role[], ...calls: string[]][] = [
  [users, "run_schedule('s', date_trunc('second', clock_timestamp()))"],
  [
    everybody,
    "version()",
    "fingerprint()",
    "require_queue('q')",
    "create_queue('q')",
    "backoff(1)",
    "wake_channel('q')",
  ],
  [
    senders,
    "send('q', 'x')",
    "send('q', '{}'::jsonb)",
    "send('q', 't', 'x')",
    "send('q', 't', '{}'::jsonb)",
    "send('q', 't', 'x', '{\"delay\": 60}')",
    "send_1('t', 'x', null, false)",
    "send_batch('q', '{x}'::text[])",
    "send_batch('q', array['{}'::jsonb])",
    "send_batch('q', 't', '{x}'::text[])",
    "send_batch('q', 't', array['{}'::jsonb])",
    "send_batch_1('t', '{x}', null, null, false)",
    "send_deduplicated('q', 't', 'x')",
    "send_batch_deduplicated('q', 't', '{x}')",
    "insert_event('q', 't', 'x')",
  ],
  [
    receivers,
    "receive('q', 'c')",
    "receive_messages('q', 'c')",
    "next_messages('q', 'c', array[:batch]::bigint[])",
    "receive_1('c', null, 1, '1 s', null, false)",
    "receive_coop('q', 'c', 'w')",
    "ack(:batch)",
    "ack_1(:batch)",
    "ack(:batch, '{1}')",
    "ack_by_number(:batch)",
    "extend(:batch)",
    "ack_strict(:batch)",
    "ack_strict(:batch, '{1}')",
    "ack_with_results(:batch, '{1}', '{5}')",
    "store_step(:batch, 1, 'charge', '5')",
    "forget_steps('q', 'c', '{1}')",
    "report_progress('q', 'c', '{1}', '{1}', '{log}', '{x}')",
    "finish_batch(:batch)",
    "nack(:batch, '{1}'::bigint[])",
    "nack(:batch, row(1, :batch, null, null, null, null, null, null, null, null)::pgque.message)",
    "event_retry(:batch, 1, 60)",
    "settle(:batch)",
    "report_started(:batch, 1, true)",
    "settle(:batch, retry_ids => '{1}', retry_after => '{1 s}')",
    "settle(:batch, snooze_ids => '{1}', snooze_after => '{1 s}', dead_ids => '{2}')",
    "snooze(:batch, '{1}', '1 s')",
    "bury(:batch, '{1}')",
    "cancel('q', '{1}')",
    "cancel_by_key('q', '{k}')",
    "subscribe('q', 'new')",
    "seek('q', 'c', 'latest')",
    "unsubscribe('q', 'c')",
    "unsubscribe('q', 'not there')",
    "register_consumer('q', 'new')",
    "unregister_consumer('q', 'c')",
    "subscribe_subconsumer('q', 'c', 'w')",
    "touch_subconsumer('q', 'c', 'w')",
    "unsubscribe_subconsumer('q', 'c', 'w')",
    "raise_idle_flag('q')",
    "lower_idle_flag('q')",
    "has_open_senders('q')",
    "max_retries('q')",
    "skipped_messages('q', 'c')",
    // just like it is
    "schedule('s', 'q', '0 0 * * *')",
    "schedule('s', 'q', '0 0 * * *', null::jsonb)",
  ],
  [
    receiversOfAny,
    "batch_queue(:batch)",
    "heartbeat('w')",
    "hold_session('s')",
    "maintain()",
    "deliver_due()",
    "maintain_shared()",
    "maintain_queue('q')",
    "queues_to_maintain('{q}')",
    "maintain('q')",
    "next_due_at()",
    // no queue has this number: nothing to protect
    "ack(0)",
    "settle(0)",
    "report_started(0, 1, true)",
  ],
  [["pgque_viewer", ...users], "option_differences('q', '{\"max_retries\": 1}')"],
  [["pgque_viewer", ...receivers], "option_differences('q', '{\"rate_limit\": 1}', 'c')"],
  [["pgque_viewer", ...receivers], "result('q', 1, 'c')", "steps('q', 1, 'c')", "progress('q', 1, 'c')"],
  [["pgque_viewer", ...users], "result('q', 1, 'c', '0123456789abcdef')"],
  [["pgque_viewer", ...receiversOfAny], "schedules()", "held_locks()"],
  [["pgque_viewer", ...receivers], "schedules('q')", "held_locks('q')"],
  [
    viewers,
    "queue_status()",
    "queue_status('q')",
    "consumer_status('q')",
    "segment_status('q')",
    "worker_status()",
    "maintenance_status()",
    "maintenance_problems()",
    "lost_batches()",
    "waiting_lanes()",
    "status()",
    "get_queue_info('q')",
    "get_consumer_info('q')",
    "subscription_rows()",
    "retry_queue_rows()",
    "tick_rows()",
    "queue_names()",
    "dlq_inspect('q')",
    "peek('q')",
    "peek('q', 'c')",
    "tail('q')",
    "queue_settings()",
    "consumer_settings('q')",
    "dead_letters('q')",
    "find_message('q', 1)",
  ],
  [
    readers,
    "maint()",
    "maint_retry_events()",
    "maintain_all()",
    "ticker()",
    "ticker('q')",
    "force_tick('q')",
    "force_next_tick('q')",
  ],
  [
    admins,
    "create_queue('new')",
    "drop_queue('q', true)",
    "change_queue('q', '{\"max_retries\": 1}')",
    "change_consumer('q', 'c', '{\"rate_limit\": 1}')",
    "set_queue_config('q', 'max_retries', '1')",
    "set_consumer_config('q', 'c', 'rate_limit', '1')",
    "pause('q')",
    "resume('q', 'c')",
    "purge('q')",
    "deliver_delayed('q')",
    "deliver_delayed('q', 'infinity', '1 s', 'c')",
    "deliver_delayed('q', message_id => 1)",
    "schedule('new', 'q', '0 0 * * *')",
    "schedule('new', 'q', '0 0 * * *', '{}'::jsonb)",
    "schedule('s', 'q', '1 0 * * *')",
    "unschedule('s')",
    "redrive('q')",
    "purge_dead_letters('q')",
    "dlq_replay(1)",
    "dlq_replay_all('q')",
    "dlq_purge('q')",
    "grant_queue('q', 'nobody', 'send')",
    "revoke_queue('q', 'sender', 'send')",
  ],
  [
    [],
    "create_roles()",
    "grow_ring(1, 3)",
    "truncate_all(1)",
    "batch_messages(:batch)",
    "requeue_messages(:batch, '{1}', 'bury', null, null)",
  ],
];

let database: OwnServer;
let client: pg.Client;
let batch: string;

beforeAll(async () => {
  database = await ownServer();
  client = await database.connect();
  await client.query(
    `select pgque.create_queue('q', '{"allow_cancel": true}'), pgque.create_queue('other'), pgque.schedule('s', 'q', '0 0 * * *')`,
  );
  await client.query(`select pgque.subscribe('q', 'c', '{"mode": "shared"}'), pgque.send_batch('q', '{a,b}'::text[])`);
  batch = (await client.query("select batch_id from pgque.receive('q', 'c')")).rows[0].batch_id;
  await client.query("create role sender; create role receiver; create role stranger; create role nobody");
  await client.query("select pgque.grant_queue('q', 'sender', 'send'), pgque.grant_queue('q', 'receiver', 'receive')");
  await client.query(
    "select pgque.grant_queue('other', 'stranger', 'send'), pgque.grant_queue('other', 'stranger', 'receive')",
  );
});
afterAll(() => database.drop());

/** Runs something as a role and takes it back. Returns the SQLSTATE, empty when it went well. */
async function codeOf(role: Role, statement: string): Promise<string> {
  await client.query("begin");
  try {
    await client.query(`set local role ${role}`);
    await client.query(statement);
    return "";
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await client.query("rollback");
  }
}

async function codesOf(statement: string): Promise<[Role, string][]> {
  const codes: [Role, string][] = [];
  for (const role of roles) codes.push([role, await codeOf(role, statement)]);
  return codes;
}

/** Those who are not refused. */
async function allowed(statement: string): Promise<Role[]> {
  return (await codesOf(statement)).filter(([, code]) => code !== denied).map(([role]) => role);
}

const statementOf = (call: string): string =>
  `${call.startsWith("maintain_all") ? "call" : "select"} pgque.${call.replaceAll(":batch", `${batch}::bigint`)}`;

describe("only those may call", () => {
  for (const [expected, ...group] of calls) {
    for (const call of group) {
      test(`${call}: ${expected.join(", ") || "nobody"}`, async () => {
        const codes = await codesOf(statementOf(call));
        expect(codes.filter(([, code]) => code !== denied).map(([role]) => role)).toEqual(
          roles.filter((role) => expected.includes(role)),
        );
        // it is the call that was tried, not a slip of the pen
        for (const [role, code] of codes) if (code !== denied) expect(code, role).not.toMatch(/^42|^XX/);
      });
    }
  }

  test("and every function is tried, but for those that only the owner of the schema may call", async () => {
    const { rows } = await client.query("select function_name from pgque.function_privileges() order by 1");
    const tried = new Set(calls.flatMap(([, ...group]) => group.map((call) => call.replace(/\(.*/s, ""))));
    expect(rows.map((row) => row.function_name.replace("<queue>", "1")).filter((name) => !tried.has(name))).toEqual([]);
  });
});

test("functions that are not in the catalogue are executable by nobody but the owner of the schema", async () => {
  const { rows } = await client.query(
    `select role, p.oid::regprocedure::text
       from pg_proc p
      cross join unnest($1::text[]) as role
      where p.pronamespace = 'pgque'::regnamespace
        and regexp_replace(p.proname, '_\\d+$', '_<queue>') not in (select f.function_name from pgque.function_privileges() f)
        and has_function_privilege(role, p.oid, 'execute')`,
    [roles],
  );
  expect(rows).toEqual([]);
});

test("no role may read or write any table or sequence, or create in the schema", async () => {
  const { rows } = await client.query(
    `select role, c.oid::regclass::text as name
       from pg_class c
      cross join unnest($1::text[]) as role
      where c.relnamespace = 'pgque'::regnamespace
        and case when c.relkind = 'S' then has_sequence_privilege(role, c.oid, 'usage,select,update')
                 when c.relkind in ('r', 'p') then has_table_privilege(role, c.oid, 'select,insert,update,delete,truncate,references,trigger')
            end
      union all
     select role, 'pgque' from unnest($1::text[]) as role where has_schema_privilege(role, 'pgque', 'create')`,
    [roles],
  );
  expect(rows).toEqual([]);
  for (const table of ["message_1", "message_1_0", "batch_1", "outcome_1", "queue", "meta", "dead_letter", "heartbeat"])
    expect(await allowed(`select from pgque.${table}`), table).toEqual([]);
  expect(await allowed("select from pgque.message_seq_1")).toEqual([]);
  expect(await allowed("create table pgque.mine ()")).toEqual([]);
  expect(await allowed("drop table pgque.message_1 cascade")).toEqual([]);
  expect(await allowed("create or replace function pgque.version() returns text language sql return 'mine'")).toEqual(
    [],
  );
});

test("the roles of the schema have no power of their own", async () => {
  const { rows } = await client.query(
    `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls
       from pg_roles where rolname like 'pgque\\_%' order by 1`,
  );
  expect(rows.map((row) => row.rolname)).toEqual(["pgque_admin", "pgque_reader", "pgque_viewer", "pgque_writer"]);
  for (const { rolname, ...powers } of rows) {
    expect(Object.values(powers), rolname).toEqual([false, false, false, false, false, false]);
  }
  expect((await client.query("select from pg_auth_members where roleid > 16384 or member > 16384")).rowCount).toBe(0);
});
