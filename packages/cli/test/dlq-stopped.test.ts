import { beforeEach, expect, test } from "vitest";
import { Proxy } from "../../../test/support/proxy.ts";
import { until } from "../../../test/support/until.ts";
import { freshCli } from "./support/cli.ts";
import type { Running } from "./support/pgque.ts";

const { client, database, start } = await freshCli();
const admin = await database.connect();
const total = 25_000;

beforeEach(async () => {
  await client.queues.drop("q", { force: true });
  await client.ensure("q");
  await client.subscribe("q", "c");
  await admin.query(
    `insert into pgque.dead_letter (queue_id, consumer, message_id, attempt, type, payload, created_at)
     select (select id from pgque.queue), 'c', n, 6, 'default', '1', now() from generate_series(1, $1::int) n`,
    [total],
  );
});

const left = async (): Promise<number> =>
  (await admin.query<{ n: number }>("select count(*)::int as n from pgque.dead_letter")).rows[0]?.n ?? 0;
const sent = async (): Promise<number> => (await client.consumers.list("q")).reduce((sum, { depth }) => sum + depth, 0);

interface HeldUp {
  running: Running;
  /** The session that waits. */
  pid: number;
  letGo: () => Promise<unknown>;
}

/** Holds the dead letter that stands there, so that the step with it waits; runs the command until it does. */
async function heldUp(at: number, ...args: string[]): Promise<HeldUp> {
  await admin.query("begin");
  await admin.query("select from pgque.dead_letter where message_id = $1 for update", [at]);
  const { rows: holders } = await admin.query<{ pid: number }>("select pg_backend_pid() as pid");
  const running = start("dlq", ...args);
  let ended: unknown;
  void running.ended.then((end) => (ended = end));
  let seen: { pid: number; waits: boolean }[] = [];
  let waiting: { pid: number } | undefined;
  await until(async () => {
    const { rows } = await client.pool.query<(typeof seen)[number]>(
      `select pid, wait_event_type, wait_event, query, $1 = any (pg_blocking_pids(pid)) as waits
         from pg_stat_activity where datname = current_database() and application_name = 'pgque'`,
      [holders[0]?.pid],
    );
    if (ended !== undefined) throw new Error(`it ended before it waited: ${JSON.stringify(ended)}`);
    seen = rows;
    waiting = rows.find(({ waits }) => waits);
    return waiting !== undefined;
  }, "it waits for the dead letter").catch((error: unknown) => {
    throw new Error(`seen last: ${JSON.stringify(seen)}`, { cause: error });
  });
  return { running, pid: waiting?.pid ?? 0, letGo: () => admin.query("rollback") };
}

test.each([
  ["redrive q --all", 3500, 3000, "sent again"],
  ["redrive q --all", 1, 0, "sent again"],
  ["purge q --all --yes", 15_000, 10_000, "thrown away"],
])("Ctrl-C in the middle of %s, at the %dth, leaves %d done, and says so", async (args, at, done, what) => {
  const { running, letGo } = await heldUp(at, ...args.split(" "));
  running.kill("SIGINT");
  expect(await running.ended).toEqual({
    code: 130,
    out: "",
    err: `error: stopped by SIGINT: ${done.toLocaleString("en")} dead letters were ${what}, the others are as they were. The same command goes on\n`,
  });
  await letGo();
  expect(await left()).toBe(total - done);
  expect(await sent()).toBe(what === "sent again" ? done : 0);
});

test("a program is told how many, too, and by SIGTERM it ends with that one's code", async () => {
  const { running, letGo } = await heldUp(1500, "redrive", "q", "--all", "--json");
  running.kill("SIGTERM");
  const { code, out } = await running.ended;
  expect({ code, out: JSON.parse(out) }).toEqual({ code: 143, out: { queue: "q", redriven: 1000 } });
  await letGo();
});

test("a connection that breaks in the middle leaves open what became of one step alone", async () => {
  const { running, pid, letGo } = await heldUp(1500, "redrive", "q", "--all");
  await client.pool.query("select pg_terminate_backend($1)", [pid]);
  expect(await running.ended).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(/^error: 1,000 dead letters were sent again, whether the next 1000 were is not known/),
  });
  await letGo();
  expect(await left()).toBe(total - 1000);
});

test("Ctrl-C that the database does not answer leaves it open, too, and ends with its exit code", async () => {
  await using proxy = await Proxy.start(Number(new URL(database.url).port));
  const { running, letGo } = await heldUp(1500, "redrive", "q", "--all", "--database-url", proxy.through(database.url));
  proxy.goDumb({ serverKnows: false });
  running.kill("SIGINT");
  expect(await running.ended).toMatchObject({
    code: 130,
    out: "",
    err: expect.stringMatching(
      /^error: stopped by SIGINT: 1,000 dead letters were sent again, whether the next 1000 were is not known/,
    ),
  });
  await letGo();
  await until(async () => (await left()) === total - 2000, "the step has gone on");
});

test("the same command goes on", async () => {
  const { running, letGo } = await heldUp(3500, "redrive", "q", "--all");
  running.kill("SIGINT");
  await running.ended;
  await letGo();
  const rest = start("dlq", "redrive", "q", "--all");
  expect(await rest.ended).toMatchObject({ code: 0, out: "Sent 22,000 dead letters again.\n" });
  expect([await left(), await sent()]).toEqual([0, total]);
});
