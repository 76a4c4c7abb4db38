import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startFollower, type Follower } from "../../../test/services/follower.ts";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { testSettings } from "../../../test/support/server.ts";
import { until } from "../../../test/support/until.ts";
import { doctor, type Told } from "./support/doctor.ts";
import { holdTransaction, repeatableRead, type HeldTransaction } from "./support/holders.ts";
import { pgque, Running } from "./support/pgque.ts";

let leader: OwnServer;
let follower: Follower;
let admin: Client;
/** What waits to be undone, the last first. */
const opened: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  leader = await ownServer({ major: 15 });
  admin = await leader.connect();
  await admin.query("create role app login password 'secret'");
  await admin.query("create role guard login password 'secret' in role pg_read_all_stats, pg_signal_backend");
  follower = await startFollower(leader.server, {
    ...testSettings,
    wal_receiver_status_interval: "1s",
  });
  await setThere("hot_standby_feedback", "on");
});
afterAll(async () => {
  await follower[Symbol.asyncDispose]();
  await leader.drop();
});
beforeEach(() => async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

/** The database of the test on one of the two servers, as a role. */
function as(role: string, url: string): string {
  const its = new URL(url);
  [its.username, its.password] = [role, "secret"];
  return its.href;
}

const there = (role: string): string => as(role, follower.urlOf(leader.url));

async function connectThere(): Promise<Client> {
  const client = new Client({ connectionString: there("app") });
  client.on("error", () => undefined);
  await client.connect();
  opened.push(() => client.end());
  return client;
}

/** A report on the follower, which holds the leader's horizon as soon as the follower has said so. */
async function holdThere(): Promise<HeldTransaction> {
  const holder = await holdTransaction({ connect: connectThere }, repeatableRead);
  for (let i = 0; i < 10; i += 1) await admin.query("select pg_current_xact_id()");
  await until(async () => Number(await age()) >= 10, "the leader's horizon is held");
  return holder;
}

/** How far back the leader's horizon is held by a standby. */
async function age(): Promise<number | undefined> {
  const { rows } = await admin.query<{ age: number }>(
    `select age(backend_xmin) from pg_stat_replication where backend_xmin is not null
     union all select age(xmin) from pg_replication_slots where xmin is not null`,
  );
  return rows[0]?.age;
}

const isFree = (): Promise<void> => until(async () => Number(await age()) < 10, "the leader's horizon moves on");

const env = (): Record<string, string> => ({ DATABASE_URL: as("guard", leader.url) });
const args = (): string[] => ["guard", "--older-than", "0s", "--json", "--follower", there("guard")];

interface Line {
  msg: string;
  pid?: number;
}

const linesOf = (out: string): Line[] =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

async function once(...more: string[]): Promise<Line[]> {
  const { code, out, err } = await pgque([...args(), "--once", ...more], env());
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return linesOf(out);
}

/** What is said of a transaction on the follower. */
const said = (msg: string): Record<string, unknown> => ({
  msg,
  server: `127.0.0.1:${follower.server.port}`,
  user: "app",
  application: "holder",
});

async function horizonOfLeader(): Promise<Told[]> {
  const { checks } = await doctor(leader.url);
  return checks.filter(({ check }) => check === "horizon");
}

/** Changes a setting of the follower, where it counts for every session from then on. */
async function setThere(name: string, value: string): Promise<void> {
  const superuser = new Client({ connectionString: follower.server.url });
  await superuser.connect();
  await superuser.query(`alter system set ${name} = '${value}'`);
  await superuser.query("select pg_reload_conf()");
  await until(
    async () => (await superuser.query("select current_setting($1) as now", [name])).rows[0].now === value,
    `${name} is ${value}`,
  );
  await superuser.end();
}

test("doctor on the leader names the follower as who holds the horizon, and guard the transaction over there", async () => {
  const holder = await holdThere();
  expect(await horizonOfLeader()).toMatchObject([
    { severity: "ok", found: expect.stringMatching(/^standby walreceiver, \d+ transactions back$/) },
  ]);
  const lines = await once();
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: "watching", role: "standby", server: `127.0.0.1:${follower.server.port}` }),
  );
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: "watching", role: "primary", server: `127.0.0.1:${leader.server.port}` }),
  );
  expect(lines.filter(({ pid }) => pid === holder.pid)).toMatchObject([
    { ...said("a transaction holds the horizon"), plan: expect.stringContaining("nothing, this is a dry run") },
  ]);
  await holder.client.query("commit");
  await isFree();
});

test("guard cancels a statement over there, and the leader's horizon moves on", async () => {
  const holder = await holdThere();
  const ended = holder.client.query("select pg_sleep(3600)").catch((error: { code: string }) => error.code);
  const watcher = await connectThere();
  await until(async () => {
    const { rowCount } = await watcher.query("select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'", [
      holder.pid,
    ]);
    return rowCount === 1;
  }, "it sleeps");
  const about = (await once("--cancel")).filter(({ pid }) => pid === holder.pid);
  expect(about).toMatchObject([{ ...said("a transaction holds the horizon"), plan: "cancel" }, said("cancelled")]);
  expect(await ended).toBe("57014");
  expect(holder.isGone()).toBe(false);
  await isFree();
});

test("guard goes on when the follower goes away and comes back, and ends what holds the leader's horizon there", async () => {
  const running = new Running([...args(), "--terminate", "--grace", "0s", "--interval", "50ms"], env());
  await running.says('"role":"standby"');
  await follower.server.restart({ immediate: true });
  await running.says("the server does not answer, will try again");
  const holder = await holdTransaction({ connect: connectThere }, repeatableRead);
  await until(() => holder.isGone(), "the session is gone");
  await running.says("it is over");
  running.kill("SIGTERM");
  const { code, out } = await running.ended;
  expect(code).toBe(0);
  expect(linesOf(out).filter(({ pid }) => pid === holder.pid)).toMatchObject([
    said("a transaction holds the horizon"),
    said("terminated"),
    said("it is over"),
  ]);
  await isFree();
});

test("with a slot of the follower's own doctor names that, and guard ends the transaction just so", async () => {
  await admin.query("select pg_create_physical_replication_slot('replica', true)");
  await setThere("primary_slot_name", "replica");
  const holder = await holdThere();
  await until(
    async () => (await admin.query("select from pg_replication_slots where xmin is not null")).rowCount === 1,
    "the slot holds it",
  );
  expect(await horizonOfLeader()).toMatchObject([
    {
      severity: "ok",
      found: expect.stringMatching(/^replication slot "replica", \d+ transactions back \(physical; in use/),
    },
  ]);
  await once("--terminate", "--grace", "0s");
  await until(() => holder.isGone(), "the session is gone");
  await isFree();
  await setThere("primary_slot_name", "");
  await until(
    async () => (await admin.query("select from pg_replication_slots where active")).rowCount === 0,
    "nobody reads the slot",
  );
  await admin.query("select pg_drop_replication_slot('replica')");
});

test("without hot_standby_feedback nothing over there holds anything: guard says so and leaves it alone", async () => {
  await setThere("hot_standby_feedback", "off");
  const holder = await holdTransaction({ connect: connectThere }, repeatableRead);
  const lines = await once("--terminate", "--grace", "0s");
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: expect.stringContaining("hot_standby_feedback is off") }),
  );
  expect(lines.filter(({ pid }) => pid === holder.pid)).toEqual([]);
  expect((await holder.client.query("select 1")).rowCount).toBe(1);
  await setThere("hot_standby_feedback", "on");
});

test("doctor on the follower itself names the transaction, and looks at what can be seen there", async () => {
  const holder = await holdThere();
  const { checks } = await doctor(follower.urlOf(leader.url), "--older-than", "0s");
  expect(checks.filter(({ check }) => check === "horizon")).toMatchObject([
    { found: expect.stringMatching(new RegExp(`^process ${holder.pid} `)) },
  ]);
  expect(checks.filter(({ found }) => found.startsWith("could not be looked at"))).toEqual([]);
});
