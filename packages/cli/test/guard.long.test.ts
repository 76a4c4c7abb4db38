import type { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { findTransactions } from "@pgque/client/horizon";
import { exemptionOf } from "../dist/guard/policy.js";
import { signalTransaction, targetOf } from "../dist/guard/target.js";
import { holdTransaction, repeatableRead, written, type HeldTransaction } from "./support/holders.ts";
import { pgque, Running } from "./support/pgque.ts";

let server: OwnServer;
let admin: Client;
/** A role that is no superuser, as which the holders connect. */
let app: { url: string; connect(): Promise<Client> };
beforeAll(async () => {
  server = await ownServer();
  admin = await server.connect();
  await admin.query("create role app login password 'secret'");
  await admin.query("create role guard login password 'secret' in role pg_read_all_stats, pg_signal_backend");
});
afterAll(() => server.drop());
beforeEach(() => {
  app = { url: as("app"), connect: () => connectAs("app") };
  return async () => {
    await admin.query(
      "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name like 'holder%'",
    );
  };
});

function as(role: string): string {
  const url = new URL(server.url);
  [url.username, url.password] = [role, "secret"];
  return url.href;
}

async function connectAs(role: string): Promise<Client> {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: as(role) });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

const hold = (how = {}): Promise<HeldTransaction> => holdTransaction(app, how);
const now = ["--older-than", "0s"];
const isThere = async ({ pid }: HeldTransaction): Promise<boolean> =>
  (await admin.query("select from pg_stat_activity where pid = $1 and xact_start is not null", [pid])).rowCount === 1;

interface Line {
  level: string;
  msg: string;
  pid?: number;
  plan?: string;
  because?: string;
}

/** Runs guard once as its role. */
async function once(...args: string[]): Promise<Line[]> {
  const { code, out, err } = await pgque(["guard", "--once", "--json", ...now, ...args], { DATABASE_URL: as("guard") });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const about = (lines: Line[], { pid }: HeldTransaction): string[] =>
  lines.filter((line) => line.pid === pid).map(({ msg }) => msg);

describe("what it does", () => {
  test("nothing unless it is told to: it says what it would do", async () => {
    const holder = await hold(repeatableRead);
    const lines = await once();
    expect(lines.find(({ pid }) => pid === holder.pid)).toMatchObject({
      level: "warn",
      msg: "a transaction holds the horizon",
      plan: "nothing, this is a dry run: --terminate would end it",
      application: "holder",
      user: "app",
      state: "idle in transaction",
    });
    expect(await isThere(holder)).toBe(true);
  });

  test.each([
    ["with a snapshot", repeatableRead],
    ["with a transaction id", written],
  ])("terminates an idle transaction %s", async (_, how) => {
    const holder = await hold(how);
    expect(about(await once("--terminate", "--grace", "0s"), holder)).toEqual([
      "a transaction holds the horizon",
      "terminated",
    ]);
    await until(() => holder.isGone(), "the session is gone");
  });

  test("a server that cannot be reached does not keep it from what it does on another", async () => {
    const holder = await hold(repeatableRead);
    const args = ["guard", "--once", "--json", ...now, "--terminate", "--grace", "300ms"];
    const { code, out } = await pgque([...args, "--follower", "postgres://127.0.0.1:1/x"], {
      DATABASE_URL: as("guard"),
    });
    expect(code).toBe(1);
    expect(out).toContain('"terminated"');
    await until(() => holder.isGone(), "the session is gone");
  });

  test("cancels a statement, and leaves the session of one that ends by that", async () => {
    const holder = await hold();
    const cancelled = holder.client.query("select pg_sleep(3600)").catch((error: { code: string }) => error.code);
    await until(
      async () =>
        (await admin.query("select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'", [holder.pid]))
          .rowCount === 1,
      "it sleeps",
    );
    expect(about(await once("--cancel"), holder)).toEqual(["a transaction holds the horizon", "cancelled"]);
    expect(await cancelled).toBe("57014");
    expect(holder.isGone()).toBe(false);
  });

  test("a cancel does nothing to an idle one, which is said", async () => {
    const holder = await hold(repeatableRead);
    const lines = await once("--cancel");
    expect(lines.find(({ pid }) => pid === holder.pid)?.plan).toContain("a cancel does nothing to it");
    expect(about(lines, holder)).toEqual(["a transaction holds the horizon"]);
    expect(await isThere(holder)).toBe(true);
  });
});

describe("whom it leaves alone", () => {
  test.each([
    ["a role", ["--allow-user", "app"], "user app is allowed"],
    [
      "an application",
      ["--allow-application", "other", "--allow-application", "holder"],
      "application holder is allowed",
    ],
    [
      "a query, whatever its case",
      ["--allow-query", "^SELECT PG_BACKEND_PID"],
      "query /^SELECT PG_BACKEND_PID/i is allowed",
    ],
    ["what is young", ["--older-than", "1d"], undefined],
  ])("%s", async (_, args, reason) => {
    const holder = await hold(repeatableRead);
    const lines = await once("--terminate", "--grace", "0s", ...args);
    expect(about(lines, holder)).toEqual(reason === undefined ? [] : ["left alone"]);
    expect(lines.find(({ pid }) => pid === holder.pid)?.because).toBe(reason);
    expect(await isThere(holder)).toBe(true);
  });

  test("whoever is not allowed goes, and who is stays", async () => {
    const [goes, stays] = [
      await hold(repeatableRead),
      await hold({ ...repeatableRead, application: "holder pg_dump" }),
    ];
    await once("--terminate", "--grace", "0s", "--allow-application", "holder pg_dump");
    await until(() => goes.isGone(), "the one is gone");
    expect(await isThere(stays)).toBe(true);
  });

  test("a transaction that holds no horizon, and a superuser's unless asked", async () => {
    const idle = await hold();
    const superuser = await holdTransaction(server, { ...repeatableRead, application: "holder super" });
    const lines = await once("--terminate", "--grace", "0s");
    expect([about(lines, idle), about(lines, superuser)]).toEqual([[], ["left alone"]]);
    expect(lines.find(({ pid }) => pid === superuser.pid)?.because).toContain("--include-superusers is not given");
    expect([await isThere(idle), await isThere(superuser)]).toEqual([true, true]);
    const asked = ["guard", "--once", ...now, "--terminate", "--include-superusers"];
    const { code, err } = await pgque(asked, { DATABASE_URL: as("guard") });
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining("expected a superuser for --include-superusers, got: guard"),
    });
    expect(await isThere(superuser)).toBe(true);
  });

  test("the next transaction of the same process, which began after the look", async () => {
    const holder = await hold(repeatableRead);
    const found = (await findTransactions(admin)).find(({ name }) => name === String(holder.pid));
    const target = found && targetOf(found);
    if (target === undefined) throw new Error("the holder was not found");
    await holder.client.query("commit");
    await holder.client.query("begin isolation level repeatable read");
    await holder.client.query("select 1");
    expect(await signalTransaction(admin, target, "terminate")).toBe(false);
    expect(await signalTransaction(admin, { ...target, backendStart: "0" }, "terminate")).toBe(false);
    expect(await isThere(holder)).toBe(true);
    const again = (await findTransactions(admin)).find(({ name }) => name === String(holder.pid));
    expect(await signalTransaction(admin, (again && targetOf(again)) ?? target, "terminate")).toBe(true);
    await until(() => holder.isGone(), "the session is gone");
  });
});

test("a process of the server is left alone: what applies a subscription, say", async () => {
  const holder = await hold(repeatableRead);
  const found = (await findTransactions(admin)).find(({ name }) => name === String(holder.pid));
  if (found === undefined) throw new Error("the holder was not found");
  const policy = { olderThanMs: 0, signal: "terminate", graceMs: 0, includeSuperusers: false } as const;
  const everybody = { ...policy, allowedUsers: [], allowedApplications: [], allowedQueries: [] };
  expect(exemptionOf(found, everybody)).toBeUndefined();
  const worker = { ...found, details: { ...found.details, backendType: "logical replication worker" } };
  expect(exemptionOf(worker, everybody)).toBeDefined();
});

test.each([
  ["to see", [], "pg_read_all_stats", "pg_read_all_stats"],
  [
    "to see and to end",
    ["--terminate"],
    "pg_read_all_stats and pg_signal_backend",
    "pg_read_all_stats, pg_signal_backend",
  ],
  ["to see and to end, for good", ["--cancel", "--interval", "1s"], "", "pg_read_all_stats, pg_signal_backend"],
])("without the right %s it exits with 1, and says what to grant", async (_, args, needed, missing) => {
  const stranger = await hold(repeatableRead);
  await admin.query("drop role if exists nobody_special");
  await admin.query("create role nobody_special login password 'secret'");
  const once = args.includes("--interval") ? [] : ["--once"];
  const { code, err } = await pgque(["guard", ...once, ...now, ...args], { DATABASE_URL: as("nobody_special") });
  expect(code).toBe(1);
  expect(err).toContain(`expected nobody_special to have the rights of ${needed}`);
  expect(err).toContain(`Run: grant ${missing} to nobody_special`);
  expect(await isThere(stranger)).toBe(true);
});

test("a grace is over when it is over, however long the interval", async () => {
  const running = new Running(["guard", ...now, "--interval", "1h", "--terminate", "--grace", "300ms"], {
    DATABASE_URL: as("guard"),
  });
  const holder = await hold(repeatableRead);
  await running.says("watching");
  await until(() => holder.isGone(), "the session is gone");
  running.kill("SIGTERM");
  expect(await running.ended).toMatchObject({ code: 0 });
});

describe("as a process", () => {
  const args = ["guard", ...now, "--interval", "50ms", "--terminate", "--grace", "50ms"];

  test.each(["SIGTERM", "SIGINT"] as const)("ends what comes later, and exits with 0 on %s", async (signal) => {
    const running = new Running(args, { DATABASE_URL: as("guard") });
    await running.says("watching");
    const holder = await hold(repeatableRead);
    await until(() => holder.isGone(), "the session is gone");
    running.kill(signal);
    expect(await running.ended).toMatchObject({ code: 0, err: "" });
  });

  test("outlives a server that goes away and comes back", async () => {
    await using own = await ownServer();
    const running = new Running([...args, "--include-superusers"], { DATABASE_URL: own.url });
    await running.says("watching");
    await own.server.restart({ immediate: true });
    await running.says("the server does not answer, will try again");
    const holder = await holdTransaction(own, { ...repeatableRead, application: "holder" });
    await until(() => holder.isGone(), "the session is gone");
    running.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test("watches followers too", async () => {
    await using follower = await ownServer();
    const holder = await holdTransaction(follower, { ...repeatableRead, application: "holder" });
    const { code, out } = await pgque(["guard", "--once", ...now, "--include-superusers", "--follower", follower.url], {
      DATABASE_URL: as("guard"),
    });
    expect(code).toBe(0);
    expect(out).toContain(`server=${follower.server.host}:${follower.server.port} pid=${holder.pid}`);
  });
});

test.each([
  [["--cancel", "--terminate"], "expected --cancel or --terminate, got both"],
  [["--allow-query", "("], "expected a regular expression"],
  [["--older-than", "soon"], "Expected a duration"],
])("%j is wrong usage", async (args, message) => {
  const { code, err } = await pgque(["guard", ...args], { DATABASE_URL: server.url });
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test("with --once, a server that cannot be reached is a failure", async () => {
  const { code, err } = await pgque(["guard", "--once", "--database-url", "postgres://ada:s3cret@127.0.0.1:1/x"]);
  expect(code).toBe(1);
  expect(err).toContain("ECONNREFUSED");
  expect(err).not.toContain("s3cret");
});
