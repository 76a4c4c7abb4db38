import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { parseCrontab } from "@pgque/worker";
import { describe, expect, test } from "vitest";
import { freshDatabase } from "./database.ts";
import { startWith } from "./example.ts";
import { until } from "./until.ts";

const root = path.resolve(import.meta.dirname, "../..");
const transactions = "docs/examples/transactions";
const examples = (folder: string): string[] =>
  readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${folder}/${entry.name}`);
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

/** The tests of the examples in TypeScript, on the Node.js at the path `node`, which has to be of the version `version`. */
export function describeExamples(node: string, version: string): void {
  const run = startWith.bind(null, node);

  describe(`the examples, on Node ${version}`, () => {
    test("the version is that one", async () => {
      const { stdout } = await promisify(execFile)(node, ["--version"]);
      expect(stdout.trim()).toBe(`v${version}`);
    });

    test("the first minute runs as it is in the README", async () => {
      await using database = await freshDatabase();
      const { child, output, closed } = run("first-minute.ts", database.url);
      await until(
        () => child.exitCode !== null || (output.text.includes("charged 42") && output.text.includes("charged 43")),
        `both orders are charged, got: ${output.text}`,
      );
      child.kill("SIGTERM");
      expect({ code: await closed, output: output.text.split("\n").toSorted() }).toEqual({
        code: 0,
        output: ["", "charged 42", "charged 43"],
      });
    });

    test("the first session of the command line does what its comments say", async () => {
      await using database = await freshDatabase();
      const [npx, session] = [
        'npx() { shift; "$NODE" packages/cli/bin/pgque.js "$@"; }',
        "docs/examples/command-line/session.sh",
      ];
      const env = { ...process.env, DATABASE_URL: database.url, NODE: node };
      // `pgque doctor` exits with 1: a server of tests has fsync off
      const failed = await promisify(execFile)("sh", ["-ec", `${npx}\n. ${session}`], { cwd: root, env }).catch(
        (error: unknown) => error as { stdout: string; code: number },
      );
      const { stdout, code } = failed as { stdout: string; code: number };
      expect({ stdout, code }).toEqual({ stdout: expect.stringContaining("a message failed for good"), code: 1 });
      expect(stdout.match(/"msg":"charged"/g)).toHaveLength(2);
      expect(stdout).toMatch(/^Sent 1 dead letter again\.\n.*\n 3 .*\{"orderId":-1\}$/m);
      // the reason without its stack
      expect(stdout).toMatch(/^ 1 .* {2}no such order {2}\{"orderId":-1\}$/m);
      expect(stdout).toContain("problem  settings       fsync is off");
    });

    test("the features do what their page says", async () => {
      await using database = await freshDatabase();
      const { output, closed } = run("features.ts", database.url);
      const code = await closed;
      const lines = output.text.trim().split("\n");
      expect({ code, mails: lines.filter((line) => line.startsWith("mails")) }).toEqual({
        code: 0,
        mails: ["mails password reset 9", "mails newsletter 0"],
      });
      expect(lines.filter((line) => line.startsWith("accounts") && line.endsWith("a"))).toEqual([
        "accounts open a a",
        "accounts credit a a",
      ]);
      expect(lines.filter((line) => line.startsWith("pushes"))).toEqual(["pushes your taxi is here null"]);
    });

    test("cancelled messages are not received", async () => {
      await using database = await freshDatabase();
      const { output, closed } = run("cancel.ts", database.url);
      expect({ code: await closed, output: output.text }).toEqual({
        code: 0,
        output: "default cancelled\n1 cancelled by key\nreceived { orderId: 43 }\n",
      });
    });

    test("a call returns a result, says why there is none, and one that is kept is read later", async () => {
      await using database = await freshDatabase();
      const { output, closed } = run("call.ts", database.url);
      expect({ code: await closed, output: output.text }).toEqual({
        code: 0,
        output: expect.stringMatching(/^rows: 3\nmessage \d+ is a dead letter: no report is called weekly\ntrue\n$/),
      });
    });

    test("a step is done once, and a handler that sleeps goes on", async () => {
      await using database = await freshDatabase();
      const { output, closed } = run("steps.ts", database.url);
      expect({ code: await closed, output: output.text.replace(/^.*(warn|info).*\n/gm, "") }).toEqual({
        code: 0,
        output: "charges order 42\nmails r-42\n{ receipt: 'r-42' }\n",
      });
    });

    test("a relay writes to a destination of the application's own", async () => {
      await using database = await freshDatabase();
      const { output, closed } = run("relay/sink.ts", database.url);
      expect({ code: await closed, output: output.text }).toEqual({
        code: 0,
        output: '1 {"orderId":1}\n2 {"orderId":2}\nrefused\n',
      });
    });

    test("the example of the telemetry page makes the spans that it says", async () => {
      await using database = await freshDatabase();
      const printSpans = path.join(root, "test/support/print-spans.ts");
      const { output, closed } = run("telemetry.ts", database.url, "--import", printSpans);
      const code = await closed;
      expect({ code, lines: output.text.trim().split("\n") }).toEqual({
        code: 0,
        lines: [
          "charge { orderId: 42 }",
          "send orders in checkout",
          "checkout",
          "receive orders linked to send orders",
          "process orders in send orders",
          "settle orders",
        ],
      });
    });

    test("the example of the page on observability is probed and scraped", async () => {
      await using database = await freshDatabase();
      const { child, output, closed } = run("observability.ts", database.url);
      const lines = (): string[] => output.text.trim().split("\n");
      await until(
        () => child.exitCode !== null || (lines().length >= 4 && output.text.includes("port ")),
        `both orders are charged, got: ${output.text}`,
      );
      const [, port = ""] = /port (\d+)/.exec(output.text) ?? [];
      const get = async (page: string) => {
        const response = await fetch(`http://127.0.0.1:${port}${page}`);
        return { status: response.status, text: await response.text() };
      };
      expect([await get("/healthz"), await get("/readyz")]).toEqual([
        { status: 200, text: "" },
        { status: 200, text: "" },
      ]);
      const metrics = await get("/metrics");
      expect(metrics.text).toContain(
        'pgque_messages_handled_total{queue="orders",consumer="default",outcome="done"} 2',
      );
      expect(metrics.text).toContain('pgque_queue_dead_letters{queue="orders"} 0');
      child.kill("SIGTERM");
      expect({
        code: await closed,
        lines: lines()
          .filter((line) => !line.startsWith("port"))
          .toSorted(),
      }).toEqual({
        code: 0,
        lines: ["charge 42 of a", "charge 43 of a", "failed 43 retry the gateway is busy"],
      });
    });

    test("the example of the page on schedules runs, and its crontab is read", async () => {
      await using database = await freshDatabase();
      const { child, output, closed } = run("schedules.ts", database.url);
      await until(
        () => child.exitCode !== null || ["pulse heartbeat", "weekly 0"].every((line) => output.text.includes(line)),
        `the heartbeat is run, got: ${output.text}`,
      );
      child.kill("SIGTERM");
      const lines = output.text.split("\n").filter((line) => /^(nightly|heartbeat|weekly) [\d*]/.test(line));
      expect({ code: await closed, lines }).toEqual({
        code: 0,
        lines: [
          "nightly 2026-03-29T01:00:00.000Z",
          "nightly 2026-03-30T00:30:00.000Z",
          "heartbeat */2 * * * * * skip",
          "nightly 30 2 * * * { all: 3 }",
          "weekly 0 8 * * MON once",
        ],
      });
      const entries = parseCrontab(read("docs/examples/crontab"));
      expect(entries.map(({ name, schedule: { catchUp } }) => [name, catchUp])).toEqual([
        ["nightly", { all: 3 }],
        ["weekly", undefined],
        ["digest", { all: 16 }],
        ["pulse", "skip"],
        ["cleanup", undefined],
      ]);
    });

    test("the loop for SERIALIZABLE does each work once, and says how often it went round", async () => {
      await using database = await freshDatabase();
      const { output, closed } = run("serializable.ts", database.url);
      expect({ code: await closed, output: output.text }).toEqual({
        code: 0,
        output: expect.stringMatching(/^400 bills of 400 orders in \d+ batches, \d+ transactions run again\n$/),
      });
    });

    test.each([
      ["testing.ts", 3],
      ["testing-workers.ts", 4],
    ])("the example of the testing page passes, and leaves nothing behind: %s", async (file, tests) => {
      await using database = await freshDatabase();
      const { output, closed } = run(file, database.url, "--test-reporter=tap");
      const code = await closed;
      expect({ code, output: output.text }).toEqual({ code: 0, output: expect.stringContaining(`# pass ${tests}\n`) });
      const client = await database.connect();
      const left = await client.query("select from pg_namespace where nspname like 'pgque\\_test%'");
      expect(left.rowCount).toBe(0);
    });

    test.each([
      ["client.ts", ["sent once: true true", "refused: at", "streamed: true", "charge 9.9"]],
      [
        "administration.ts",
        [
          "queue mails true 0",
          "sender 1 true",
          "next { to: 'nobody@example.org' }",
          "dead because 550 no such user",
          "dead: 1",
          "redriven: 1",
        ],
      ],
    ])("the client's page runs as it is: %s", async (file, lines) => {
      await using database = await freshDatabase();
      const { stdout } = await promisify(execFile)(node, [path.join(root, "docs/examples", file)], {
        env: { ...process.env, DATABASE_URL: database.url },
      });
      expect(stdout.trim().split("\n")).toEqual(lines);
    });

    test.for(examples(transactions))("%s stores an order and its message together", async (file) => {
      await using database = await freshDatabase();
      const client = await database.connect();
      await client.query(
        "create table public.orders (id int generated always as identity primary key, item text not null)",
      );
      const { output, closed } = run(path.relative("docs/examples", file), database.url);
      const code = await closed;
      expect({ code, output: output.text }).toEqual({ code: 0, output: "" });
      await client.query(`select pgque.subscribe('orders placed', 'c', '{"from": "earliest"}')`);
      const { rows } = await client.query(
        "select id, payload::jsonb from public.orders, pgque.receive('orders placed', 'c')",
      );
      expect(rows).toEqual([{ id: 1, payload: { orderId: 1 } }]);
    });

    test("the example of @pgque/postgres starts a server of its own", async () => {
      const { output, closed } = run("postgres.ts", "");
      expect({ code: await closed, output: output.text }).toEqual({ code: 0, output: "17 [ { major: 17 } ]\n" });
    });

    test("the worker's page runs as it is", async () => {
      await using database = await freshDatabase();
      const client = await database.connect();
      const { child, output, closed } = run("worker.ts", database.url);
      await until(async () => {
        if (child.exitCode !== null) throw new Error(output.text);
        const { rowCount } = await client.query("select from pgque.dead_letter");
        return rowCount === 1 && output.text.includes("account a closed") && output.text.includes("receipt 1");
      }, "everything is handled");
      child.kill("SIGTERM");
      expect(await closed).toBe(0);
      const lines = output.text.trim().split("\n");
      expect(lines.filter((line) => line.startsWith("account"))).toEqual([
        "account a opened",
        "account a credited",
        "account a closed",
      ]);
      expect(new Set(lines.filter((line) => !line.startsWith("account")))).toEqual(
        new Set(["receipt 1", "dead cancelled the gateway is gone"]),
      );
    });
  });
}
