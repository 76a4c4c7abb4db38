import type pg from "pg";
import { afterAll, expect, test } from "vitest";
import { install } from "@pgque/sql";
import { freshDatabase } from "../../../test/support/database.ts";

const database = await freshDatabase();
afterAll(() => database.drop());

/** A call of most functions. What it returns does not depend on when it runs. */
async function day(client: pg.Client, schema: string): Promise<unknown[]> {
  const said: unknown[] = [];
  const call = async (expression: string, ...values: unknown[]): Promise<unknown> => {
    const { rows } = await client.query(`select to_json(${schema}.${expression}) as value`, values).catch((error) => {
      throw new Error(`${expression}: ${error.message}`, { cause: error });
    });
    const found = rows.map(({ value }) => value);
    said.push(expression, found.length);
    return found[0];
  };
  const hostile = `o'\\q"ö`;
  await call("create_queue('q', $1)", {
    retention: "1 hour",
    max_lag: "1 day",
    priorities: 3,
    allow_expiry: true,
  });
  await call("create_queue($1, $2)", hostile, { partitions: 4, rotation_period: "90 min" });
  await call("subscribe('q', 'c', $1)", { mode: "shared", rate_limit: 1000, max_in_flight: 100 });
  await call("subscribe('q', 'from', $1)", { from: "2030-01-31T12:00:00Z" });
  await call("subscribe($1, $2, $3)", hostile, hostile, { mode: "ordered" });
  const options = {
    headers: { a: 1.5 },
    priority: 2,
    dedupe_key: hostile,
    dedupe_ttl: "36 hours",
    ttl: "1 day",
  };
  await call("send('q', $1, $2, $3)", hostile, hostile, options);
  await call("send('q', 't', 'later', $1)", { delay: "1 day 2 hours" });
  await call("send('q', 't', 'at', $1)", { at: "2030-12-31T12:00:00+02:00" });
  await call("send_batch('q', 't', $1::text[])", [hostile, "NULL", "null", "{}"]);
  await call("send($1, 't', $2, $3)", hostile, hostile, { key: hostile });
  const got = (await call("receive_messages('q', 'c', worker => 'w', lease => '90 min')")) as {
    batch_id: string;
    message_id: string;
  };
  await call("extend($1, '2 hours')", got.batch_id);
  await call("nack($1, $2::bigint[], '1 day 1 s', $3)", got.batch_id, [got.message_id], hostile);
  await call("heartbeat('w', '1 min', $1)", hostile);
  const its = (await call("receive_messages($1, $2)", hostile, hostile)) as { batch_id: string };
  await call("settle($1)", its.batch_id);
  await call("schedule($1, 'q', '* * * * *', $2, $3)", hostile, hostile, {
    time_zone: "Europe/Berlin",
    headers: { b: hostile },
  });
  await call("run_schedule($1, date_trunc('second', clock_timestamp()) - make_interval(mins => $2))", hostile, ++days);
  await call("find_message('q', $1)", got.message_id);
  await call("deliver_delayed('q', within => '1 day')");
  const dead = (await call("receive_messages('q', 'c', max_messages => 1)")) as {
    batch_id: string;
    message_id: string;
  };
  await call("bury($1, $2::bigint[], $3)", dead.batch_id, [dead.message_id], hostile);
  for (const look of [
    "peek('q', 'c')",
    "tail('q')",
    "dead_letters('q')",
    "queue_status()",
    "consumer_status()",
    "segment_status('q')",
  ])
    await call(look);
  for (const look of [
    "worker_status()",
    "maintenance_status()",
    "lost_batches()",
    "waiting_lanes()",
    "schedules()",
    "queue_settings('q')",
    "consumer_settings('q')",
  ])
    await call(look);
  await call("change_queue('q', $1)", { rotation_period: "36 hours", max_lag: null, low_priority_every: 3 });
  await call("change_consumer('q', 'c', $1)", { rate_period: "1 min", rate_limit: 5 });
  await call("seek('q', 'c', '2026-01-31T12:00:00Z')");
  await call("redrive('q')");
  await call("maintain()");
  await call("repair(true)");
  await call("receive_messages('q', 'c')");
  await call("unschedule($1)", hostile);
  await call("purge('q')");
  await call("unsubscribe('q', 'c')");
  for (const queue of ["q", hostile]) await call("drop_queue($1, true)", queue);
  const { rows } = await client.query(
    `select (select count(*)::int from ${schema}.consumer) as consumers, (select count(*)::int from ${schema}.schedule) as schedules`,
  );
  return [...said, rows[0]];
}

/** A time of a schedule's name is run once, so each day runs another. */
let days = 0;
const usual = await day(await database.connect(), "pgque");

const text = {
  standard_conforming_strings: "off",
  backslash_quote: "off",
  array_nulls: "off",
  quote_all_identifiers: "on",
  DateStyle: "German",
  IntervalStyle: "sql_standard",
  bytea_output: "escape",
  extra_float_digits: "-15",
  TimeZone: "Asia/Kathmandu",
};
const planner = {
  DateStyle: "SQL, DMY",
  IntervalStyle: "postgres_verbose",
  "plpgsql.variable_conflict": "use_column",
  plan_cache_mode: "force_custom_plan",
  enable_indexscan: "off",
  constraint_exclusion: "on",
  default_transaction_deferrable: "on",
};
const replica = {
  session_replication_role: "replica",
  IntervalStyle: "iso_8601",
  "plpgsql.variable_conflict": "use_variable",
  "plpgsql.extra_errors": "all",
  row_security: "off",
  transform_null_equals: "on",
  check_function_bodies: "off",
};

/** A session with settings that a role or a database may have for others' sake. */
async function connectWith(settings: Record<string, string>): Promise<pg.Client> {
  const client = await database.connect();
  await client.query("load 'plpgsql'");
  for (const [name, value] of Object.entries(settings))
    await client.query("select set_config($1, $2, false)", [name, value]);
  return client;
}

test.each(Object.entries({ text, planner, replica }))("everything works under settings of %s", async (_, settings) => {
  expect(await day(await connectWith(settings), "pgque")).toEqual(usual);
});

test("what is installed under such settings works without them", async () => {
  await install(await connectWith({ ...planner, ...replica, ...text }), { schema: "under" });
  expect(await day(await database.connect(), "under")).toEqual(usual);
});

test("everything works beside a publication of all tables, which tells what is deleted", async () => {
  const client = await database.connect();
  await client.query("create publication everything for all tables");
  expect(await day(client, "pgque")).toEqual(usual);
});
