import type { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ownServer, type OwnServer, type TestDatabase } from "../../../test/support/database.ts";
import { Proxy } from "../../../test/support/proxy.ts";
import { until } from "../../../test/support/until.ts";
import { holdTransaction, repeatableRead } from "./support/holders.ts";
import { pgque, Running } from "./support/pgque.ts";
import { Terminal } from "./support/terminal.ts";

const enter = "\u001b[?1049h";
const leave = "\u001b[?25h\u001b[?1049l";

let server: OwnServer;
let database: TestDatabase;
let client: Client;
let env: { DATABASE_URL: string; NO_COLOR: string };
beforeAll(async () => {
  server = await ownServer();
});
afterAll(() => server.drop());
beforeEach(async () => {
  database = await server.fresh();
  client = await database.connect();
  env = { DATABASE_URL: database.url, NO_COLOR: "1" };
  for (const [queue, messages] of [
    ["alpha", 3],
    ["beta", 20],
  ] as const) {
    await client.query("select pgque.create_queue($1)", [queue]);
    await client.query(`select pgque.subscribe($1, 'billing', '{"mode": "shared"}')`, [queue]);
    await client.query("select pgque.send_batch($1, array_fill('x'::text, array[$2::int]))", [queue, messages]);
  }
  return () => database.drop();
});

const queuesOf = (screen: string[]): string[] => screen.flatMap((line) => /^(alpha|beta|gamma) /.exec(line)?.[1] ?? []);

describe("a snapshot", () => {
  test("is printed where there is no terminal: sorted, whole, and with who holds the horizon", async () => {
    const holder = await holdTransaction(database, repeatableRead);
    await until(
      async () =>
        (
          await client.query(
            "select from pg_stat_activity where pid = $1 and xact_start < clock_timestamp() - interval '1 s'",
            [holder.pid],
          )
        ).rowCount === 1,
      "it holds for a second",
    );
    const { code, out, err } = await pgque(["top"], env);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = out.split("\n");
    expect(lines[1]).toMatch(
      new RegExp(`^horizon: \\d+ transactions back, held by process ${holder.pid} \\(postgres, holder\\) for \\d+s$`),
    );
    expect(lines[3]).toMatch(
      /^queue +consumer +depth▼ +sent\/s +received\/s +in flight +lag +delayed +dead letters +size$/,
    );
    expect(queuesOf(lines)).toEqual(["beta", "alpha"]);
    expect(lines[4]).toMatch(/^beta +billing +20 +[\d.]+ +0 +0 +\d+\w+ +0 +0 +/);
    await holder.client.query("rollback");
  });

  test("is an object with --json", async () => {
    await client.query("select * from pgque.receive_messages('alpha', 'billing', max_messages => 1)");
    await client.query("select pgque.create_queue('gamma'), pgque.send('beta', 't', 'later', '{\"delay\": 600}')");
    const { code, out } = await pgque(["top", "--once", "--json"], env);
    expect(code).toBe(0);
    expect(JSON.parse(out).lines).toMatchObject([
      { queue: "alpha", consumer: "billing", depth: 2, inFlight: 1, lagMs: expect.any(Number), delayed: 0 },
      { queue: "beta", consumer: "billing", depth: 20, inFlight: 0, delayed: 1, deadLetters: 0, paused: false },
      { queue: "gamma", consumer: null, depth: 0, lagMs: null },
    ]);
  });

  test("follows a snapshot, a JSON line each, until told to stop", async () => {
    const running = new Running(["top", "--json", "--interval", "20ms"], env);
    await until(() => running.out.split("\n").length > 3, "there are three lines");
    running.kill("SIGTERM");
    const { code, out } = await running.ended;
    expect(code).toBe(0);
    for (const line of out.trim().split("\n")) expect(JSON.parse(line).lines).toHaveLength(2);
  });

  test("is followed over connections that are lost, and standard error says how", async () => {
    const running = new Running(["top", "--json", "--interval", "20ms"], env);
    await running.says("}\n");
    await client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pgque top'");
    await until(() => running.err.includes("\n"), "it says that there is no answer");
    const before = running.out.length;
    await until(() => running.out.length > before, "it goes on");
    running.kill("SIGTERM");
    expect(await running.ended).toMatchObject({
      code: 0,
      err: "no answer, will try again: terminating connection due to administrator command\n",
    });
  });

  test("does not let a name of others write to the terminal", async () => {
    await client.query("select pgque.create_queue(e'gamma\\x1b[31m')");
    const { out } = await pgque(["top", "--once"], env);
    expect(out).toContain(String.raw`gamma\u001b[31m`);
    expect(out).not.toContain("\u001b");
  });

  test("writes nothing, and uses up no transaction id", async () => {
    const xid = "select pg_snapshot_xmax(pg_current_snapshot())::text as next";
    const before = (await client.query(xid)).rows;
    await pgque(["top", "--once"], env);
    expect((await client.query(xid)).rows).toEqual(before);
  });

  test("with --json ends when nobody reads it any more", async () => {
    const running = new Running(["top", "--json", "--interval", "10ms"], env);
    running.child.stdout?.once("data", () => running.child.stdout?.destroy());
    expect(await running.ended).toMatchObject({ code: 1, err: "" });
  });

  test("a role that may not look is told which one it needs", async () => {
    await client.query("create role passer_by login password 'x'");
    const url = database.url.replace(/\/\/[^@]*@/, "//passer_by:x@");
    const { code, err } = await pgque(["top", "--once"], { DATABASE_URL: url });
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("a member of the role pgque_viewer") });
  });

  test("where there is no schema, or no server, it fails and says why", async () => {
    const { code, err } = await pgque(["top", "--schema", "elsewhere"], env);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("elsewhere") });
    expect(err).toContain("Install it with `pgque install`, or name another with --schema");
    expect(await pgque(["top", "--database-url", "postgres://127.0.0.1:1/x"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("could not connect"),
    });
  });
});

describe("a server that does not answer", () => {
  const args = ["top", "--interval", "20ms", "--timeout", "3s"];
  const saysNothing = "no answer, will try again: the server said nothing for 4s";

  test("is told of on the screen, and asked again by a new connection", async () => {
    const terminal = new Terminal(args, env);
    await terminal.shows((screen) => queuesOf(screen).length === 2, "both queues are there");
    const goOn = await halt("application_name = 'pgque top'");
    await terminal.shows((screen) => (screen.at(-1) ?? "").startsWith(saysNothing), "it says so");
    await terminal.shows((screen) => (screen.at(-1) ?? "").startsWith("q quit"), "it is back, on another connection");
    goOn();
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test("and takes no connection either is waited for as long as it is so, and keys still work", async () => {
    await using proxy = await Proxy.start(server.server.port);
    const terminal = new Terminal(args, { ...env, DATABASE_URL: proxy.through(database.url) });
    await terminal.shows((screen) => queuesOf(screen)[0] === "beta", "both queues are there");
    proxy.goDumb({ serverKnows: false });
    await terminal.shows((screen) => (screen.at(-1) ?? "").startsWith(saysNothing), "it says so");
    await terminal.shows((screen) => (screen.at(-1) ?? "").includes("could not connect"), "it tries again");
    terminal.press("nr");
    await terminal.shows((screen) => screen.join("").includes("queue▲"), "it is sorted the other way round");
    proxy.recover();
    await terminal.shows((screen) => (screen.at(-1) ?? "").startsWith("q quit"), "it is back");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test("is told of while it is waited for, and q does not wait", async () => {
    const terminal = new Terminal(["top", "--interval", "20ms", "--timeout", "1d"], env);
    await terminal.shows((screen) => queuesOf(screen).length === 2, "both queues are there");
    const goOn = await halt("application_name = 'pgque top'");
    await terminal.shows((screen) => / for \ds, still waiting$/.test(screen.at(-1) ?? ""), "it says so");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
    goOn();
  });

  test.each([
    ["before the first look", []],
    ["with --json", ["--json"]],
  ])("does not keep it when it is told to stop, %s", async (_, more) => {
    await using proxy = await Proxy.start(server.server.port);
    proxy.goDumb({ serverKnows: false });
    const running = new Running(["top", "--timeout", "1d", ...more], {
      ...env,
      DATABASE_URL: proxy.through(database.url),
    });
    await until(() => proxy.connections === 1, "it has connected");
    running.kill("SIGINT");
    expect(await running.ended).toEqual({ code: 0, out: "", err: "" });
  });

  test("where there is no terminal is a failure", async () => {
    await using proxy = await Proxy.start(server.server.port);
    proxy.goDumb({ serverKnows: false });
    const url = proxy.through(database.url);
    expect(await pgque(["top", "--once", "--timeout", "1s"], { DATABASE_URL: url })).toEqual({
      code: 1,
      out: "",
      err: expect.stringContaining("could not connect"),
    });
  });
});

/** Stops processes of the server in the middle of whatever they do, until they may go on. */
async function halt(which: string): Promise<() => void> {
  const { rows } = await client.query<{ pid: number }>(`select pid from pg_stat_activity where ${which}`);
  const halted = rows.map(({ pid }) => pid);
  const goOn = (): void => halted.splice(0).forEach((pid) => process.kill(pid, "SIGCONT"));
  onTestFinished(goOn);
  for (const { pid } of rows) process.kill(pid, "SIGSTOP");
  return goOn;
}

describe("at a terminal", () => {
  const args = ["top", "--interval", "50ms"];

  test("draws, follows what happens, sorts by a key and the other way round, and q gives the terminal back", async () => {
    const terminal = new Terminal(args, env);
    const first = await terminal.shows((screen) => queuesOf(screen).length === 2, "both queues are there");
    expect(queuesOf(first)).toEqual(["beta", "alpha"]);
    expect(first[0]).toContain("pgque top");
    expect(first.at(-1)).toContain("q quit");
    await client.query("select pgque.send_batch('alpha', array_fill('x'::text, array[50]))");
    await terminal.shows((screen) => queuesOf(screen)[0] === "alpha", "alpha has become the deepest");
    terminal.press("n");
    await terminal.shows((screen) => screen.join("").includes("queue▼"), "it is sorted by name");
    terminal.press("r");
    await terminal.shows((screen) => queuesOf(screen)[0] === "beta", "the order is reversed");
    expect(terminal.output.startsWith(enter)).toBe(true);
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
    expect(terminal.output.endsWith(leave)).toBe(true);
  });

  test("fits itself to the terminal when that changes its size", async () => {
    for (let i = 0; i < 30; i++) await client.query("select pgque.create_queue($1)", [`q${i} ${"n".repeat(40)}`]);
    const terminal = new Terminal(args, env, { columns: 160, rows: 24 });
    const large = await terminal.shows((screen) => screen.length === 24, "24 lines are there");
    expect(large.at(-3)).toMatch(/^… \d+ more/);
    terminal.resize(60, 12);
    const small = await terminal.shows((screen) => screen.length === 12, "12 lines are there");
    expect(Math.max(...small.map((line) => line.length))).toBeLessThanOrEqual(60);
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"])("gives the terminal back and exits with 0 on %s", async (signal) => {
    const terminal = new Terminal(args, env);
    await terminal.shows((screen) => queuesOf(screen).length === 2, "both queues are there");
    terminal.kill(signal);
    expect(await terminal.ended).toBe(0);
    expect(terminal.output.endsWith(leave)).toBe(true);
  });

  test("Ctrl-C is q", async () => {
    const terminal = new Terminal(args, env);
    await terminal.shows((screen) => queuesOf(screen).length === 2, "both queues are there");
    terminal.press("\u0003");
    expect(await terminal.ended).toBe(0);
    expect(terminal.output.endsWith(leave)).toBe(true);
  });

  test("gives the terminal back when it crashes", async () => {
    const crash = "process.on('SIGUSR2', () => { throw new Error('crashed') })";
    const terminal = new Terminal(args, {
      ...env,
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(crash)}`,
    });
    await terminal.shows((screen) => queuesOf(screen).length === 2, "both queues are there");
    terminal.kill("SIGUSR2");
    expect(await terminal.ended).not.toBe(0);
    expect(terminal.output).toContain(leave);
  });

  test("goes on when its connection is lost", async () => {
    const terminal = new Terminal(args, env);
    await terminal.shows((screen) => queuesOf(screen).length === 2, "both queues are there");
    await client.query("alter schema pgque rename to away");
    await terminal.shows((screen) => (screen.at(-1) ?? "").startsWith("no answer, will try again"), "it says so");
    await client.query("alter schema away rename to pgque");
    await client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pgque top'");
    await terminal.shows((screen) => (screen.at(-1) ?? "").startsWith("q quit"), "it is back");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });
});
