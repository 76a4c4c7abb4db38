import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { freshCli } from "./support/cli.ts";
import { onTerminal } from "./support/terminal.ts";

const { client, database, run, json, input, start } = await freshCli();
const folder = await mkdtemp(path.join(os.tmpdir(), "pgque test send "));
afterAll(() => rm(folder, { recursive: true }));

const payloads = async (queue = "q") =>
  (await client.messages.peek(queue, { max: 1000 })).map(({ payload }) => payload);
beforeEach(async () => {
  await client.queues.drop("q", { force: true });
  await client.ensure("q");
});

test("one message is sent, with all that it can have", async () => {
  expect(await run("send", "q", '{"name": "Zoë ☾"}')).toEqual({ code: 0, out: "Sent message 1.\n", err: "" });
  const options = [
    "--type",
    "created",
    "--header",
    "tenant=acme",
    "--header",
    "try=3",
    "--header",
    "__proto__=x",
    "--dedupe-key",
    "k",
  ];
  const sent = { queue: "q", id: "2" };
  expect(await json("send", "q", "[1]", ...options)).toEqual({ ...sent, deduplicated: false });
  const again = ["send", "q", "[1]", "--dedupe-key", "k", "--dedupe-ttl", "1h"];
  expect(await json(...again)).toEqual({ ...sent, deduplicated: true });
  expect((await run(...again)).out).toBe("Already sent as message 2.\n");
  expect(await run("queue", "create", "reminders", "--allow-cancel", "on")).toMatchObject({ code: 0 });
  const debounced = async (ifWaiting: string): Promise<string> =>
    (await run("send", "reminders", "1", "--dedupe-key", "k", "--delay", "1h", "--if-waiting", ifWaiting)).out;
  expect([await debounced("replace"), await debounced("replace"), await debounced("postpone")]).toEqual([
    "Sent message 1.\n",
    "Sent message 2 in place of 1.\n",
    "Postponed message 2, now message 4.\n",
  ]);
  expect(await json("send", "q", "2", "--delay", "5m")).toMatchObject({ id: expect.any(String) });
  expect(await json("send", "q", "3", "--at", "2099-01-31T12:00:00+01:00")).toMatchObject({ id: expect.any(String) });
  expect(await client.messages.peek("q")).toMatchObject([
    { payload: { name: "Zoë ☾" }, type: "default", headers: {} },
    {
      payload: [1],
      type: "created",
      headers: Object.fromEntries([
        ["tenant", "acme"],
        ["try", 3],
        ["__proto__", "x"],
      ]),
    },
    { payload: 2, dueAt: expect.any(Date) },
    { payload: 3, dueAt: new Date("2099-01-31T11:00:00Z") },
  ]);
});

test("priority, key and expiry go to queues that have them", async () => {
  await client.queues.drop("lanes", { force: true });
  await run("queue", "create", "lanes", "--priorities", "10", "--allow-expiry", "on");
  await json("send", "lanes", "1", "--priority", "3", "--expires", "2h");
  await json("send", "lanes", "1", "--expires", "2099-01-31T12:00:00Z");
  const found = await client.messages.peek("lanes");
  expect(found.map(({ priority }) => priority)).toEqual([3, 0]);
  expect(found.every(({ expiresAt }) => expiresAt !== null)).toBe(true);
  expect(await run("send", "q", "1", "--priority", "3")).toMatchObject({
    code: 2,
    out: "",
    err: expect.stringContaining("no priorities"),
  });
});

test("a number that JavaScript cannot hold is sent as it was written", async () => {
  await run("send", "q", '{"id": 12345678901234567890, "price": 1.50}');
  const connection = await database.connect();
  const { rows } = await connection.query("select payload::jsonb ->> 'id' as id from pgque.peek('q')");
  expect(rows).toEqual([{ id: "12345678901234567890" }]);
});

test("JSON lines come from standard input or a file; blank ones are passed over", async () => {
  expect(await input('1\n\n"zwei ☾"\r\n{"three": 3}', "send", "q", "--type", "t")).toEqual({
    code: 0,
    out: "Sent 3 messages.\n",
    err: "",
  });
  const file = path.join(folder, "lines ☾.jsonl");
  await writeFile(file, "\uFEFF4\n5\n");
  expect(await json("send", "q", "--file", file)).toEqual({ queue: "q", sent: 2, lastLine: 2 });
  expect(await json("send", "q", "--file", file, "--from-line", "2")).toEqual({ queue: "q", sent: 1, lastLine: 2 });
  expect(await payloads()).toEqual([1, "zwei ☾", { three: 3 }, 4, 5, 5]);
  expect(await input("", "send", "q")).toEqual({ code: 0, out: "Sent 0 messages.\n", err: "" });
});

test("thousands are sent in their order", async () => {
  const lines = Array.from({ length: 5000 }, (_, i) => `{"n": ${i}}\n`).join("");
  expect((await input(lines, "send", "q")).out).toBe("Sent 5,000 messages.\n");
  await client.subscribe("q", "c", { from: "earliest" });
  const batch = await client.receive("q", { consumer: "c", max: 10_000 });
  expect(batch.messages.map(({ payload }) => (payload as { n: number }).n)).toEqual(
    Array.from({ length: 5000 }, (_, i) => i),
  );
});

test("a line that is not JSON is named; what came before it is sent, and the command says where to go on", async () => {
  const file = path.join(folder, "wrong.jsonl");
  const lines = Array.from({ length: 2500 }, (_, i) => (i === 2100 ? '{"half": ' : `${i + 1}`));
  await writeFile(file, lines.join("\n"));
  const { code, out, err } = await run("send", "q", "--file", file);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain('expected a message in JSON on line 2101, found: "{\\"half\\":", which is not JSON');
  expect(err).toContain("Sent before: 2,100 messages, lines 1 to 2100. Go on with --from-line 2101");
  lines[2100] = "2101";
  await writeFile(file, lines.join("\n"));
  expect(await json("send", "q", "--file", file, "--from-line", "2101")).toEqual({
    queue: "q",
    sent: 400,
    lastLine: 2500,
  });
  await client.subscribe("q", "c", { from: "earliest" });
  const batch = await client.receive("q", { consumer: "c", max: 10_000 });
  expect(batch.messages.map(({ payload }) => payload)).toEqual(Array.from({ length: 2500 }, (_, i) => i + 1));
});

test("standard input that breaks off within a line is a line that is not JSON, also for programs", async () => {
  const { code, out, err } = await input('1\n2\n{"three', "send", "q", "--json");
  expect(code).toBe(2);
  expect(JSON.parse(out)).toEqual({ queue: "q", sent: 2, lastLine: 2 });
  expect(err).toContain("on line 3");
  expect(await payloads()).toEqual([1, 2]);
});

test("what is not UTF-8 is not sent", async () => {
  const { code, err } = await input(Buffer.from([0x31, 0x0a, 0xff, 0xfe, 0x0a]), "send", "q");
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("expected UTF-8") });
});

test("lines are sent as they come, before the input ends", async () => {
  const sending = start("send", "q");
  sending.child.stdin?.write("1\n");
  await until(async () => (await payloads()).length === 1, "the first line is sent");
  sending.child.stdin?.end("2\n");
  expect(await sending.ended).toEqual({ code: 0, out: "Sent 2 messages.\n", err: "" });
});

test("a payload over the limit of the queue is named with both sizes; what fits, however large, is sent", async () => {
  const large = JSON.stringify("x".repeat(1_000_000));
  expect((await input(`${large}\n`, "send", "q")).out).toBe("Sent 1 message.\n");
  const { code, err } = await input(`1\n${JSON.stringify("x".repeat(2_000_000))}\n`, "send", "q");
  expect(code).toBe(2);
  expect(err).toMatch(/1048576/);
  expect(err).toMatch(/2000002/);
});

test("when the connection is lost it says what is sent, and from which line on that is not known", async () => {
  const connection = await database.connect();
  const sending = start("send", "q");
  sending.child.stdin?.write("1\n");
  await until(async () => (await payloads()).length === 1, "the first line is sent");
  const tables = await connection.query(
    "select quote_ident(tablename) as name from pg_tables where schemaname = 'pgque' and tablename ~ '^message_[0-9]+_[0-9]+$'",
  );
  await connection.query("begin");
  await connection.query(`lock table ${tables.rows.map(({ name }) => `pgque.${name}`).join(", ")} in share mode`);
  sending.child.stdin?.write("2\n");
  await until(async () => {
    const { rowCount } = await connection.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'pgque' and wait_event_type = 'Lock'`,
    );
    return rowCount === 1;
  }, "the second statement waits, and its connection is cut");
  sending.child.stdin?.end();
  const { code, out, err } = await sending.ended;
  await connection.query("rollback");
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("lost the connection to the database");
  expect(err).toContain("Sent before: 1 message, lines 1 to 1; whether those from line 2 on were is not known");
});

test("a file on a terminal has a progress bar on standard error, and leaves a clean screen", async () => {
  const file = path.join(folder, "many.jsonl");
  await writeFile(file, Array.from({ length: 3000 }, (_, i) => `${i}\n`).join(""));
  const terminal = onTerminal(["send", "q", "--file", file], { DATABASE_URL: database.url });
  expect(await terminal.ended).toMatchObject({
    code: 0,
    screen: expect.stringMatching(/% .* bytes[^]*Sent 3,000 messages\./),
  });
});

test("on a terminal without a payload it does not wait for somebody to type lines", async () => {
  const terminal = onTerminal(["send", "q"], { DATABASE_URL: database.url });
  expect(await terminal.ended).toMatchObject({
    code: 2,
    screen: expect.stringContaining("expected a payload, --file, or JSON lines"),
  });
});

test.each([
  [
    ["send", "q", "hello"],
    `expected a payload in JSON, got: "hello", which is not JSON. A string needs its quotes in JSON: '"hello"'`,
  ],
  [["send", "q", "1", "--file", "x"], "expected a payload or --file, got both"],
  [["send", "q", "1", "--from-line", "2"], "expected --from-line with lines to send"],
  [["send", "q", "--from-line", "0"], "expected --from-line to be 1 or more, got: 0"],
  [["send", "q", "--file", "/no/such/file"], 'expected a file at "/no/such/file", found: nothing there'],
  [["send", "q", "--file", "/"], "found: a folder"],
  [["send", "q", "--dedupe-key", "k"], "expected a payload as argument with --dedupe-key"],
  [["send", "q", "1", "--header", "tenant"], 'Expected name=value, got: "tenant"'],
  [["send", "q", "1", "--delay", "5"], "Expected a duration like 250ms, 30s, 5m, 2h or 1d"],
  [["send", "q", "1", "--at", "tomorrow"], "Expected a time with its zone like 2026-01-31T12:00:00Z"],
  [["send", "q", "1", "--delay", "1s", "--at", "2099-01-01T00:00:00Z"], "expected --delay (in ms) or --at, got both"],
  [["send", "q", "1", "--priority", "2000"], "expected --priority to be an integer from 0 to 1023, got: 2000"],
  [["send", "q", "1", "--retry", "3"], "unknown option '--retry'"],
  [["sned", "q", "1"], "Did you mean send?"],
])("%j is wrong usage: exit code 2 and what was expected", async (args, message) => {
  const { code, out, err } = await run(...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

test("a queue that is not there is named, whether one is sent or many", async () => {
  for (const { code, err } of [await run("send", "nowhere", "1"), await input("1\n", "send", "nowhere")]) {
    expect(code).toBe(1);
    expect(err).toContain("queue not found: nowhere. `pgque queue list` shows those that are there");
  }
  expect((await input("1\n", "send", "nowhere")).err).toContain("Nothing was sent");
});

test("told to stop while it waits for lines, it says how many were sent and where to go on", async () => {
  const sending = start("send", "q");
  sending.child.stdin?.write("1\n2\n");
  await until(async () => (await payloads()).length === 2, "both lines are sent");
  sending.kill("SIGINT");
  expect(await sending.ended).toEqual({
    code: 130,
    out: "",
    err: "error: stopped by SIGINT. Sent before: 2 messages, lines 1 to 2. Go on with --from-line 3\n",
  });
});
