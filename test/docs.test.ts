import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { parseCrontab } from "@pgque/worker";
import { describe, expect, test } from "vitest";
import { freshDatabase, ownServer } from "./support/database.ts";
import { start } from "./support/example.ts";
import { until } from "./support/until.ts";

const root = path.resolve(import.meta.dirname, "..");
const documents = [
  "README.md",
  "sql/README.md",
  "packages/client/README.md",
  "packages/worker/README.md",
  "packages/cli/README.md",
  ...readdirSync(path.join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const transactions = "docs/examples/transactions";
const examples = (folder: string): string[] =>
  readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${folder}/${entry.name}`);
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

describe("documents", () => {
  test("quote the examples as they are, every one of them", () => {
    const quoted = new Set<string>();
    for (const document of documents) {
      for (const [, file = "", code] of read(document).matchAll(/<!-- (docs\/examples\/\S+) -->\n```\w+\n(.*?)```/gs)) {
        expect(code, `${file} in ${document}`).toBe(read(file));
        quoted.add(file);
      }
    }
    const files = readdirSync(path.join(root, "docs/examples"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
      .filter((file) => !file.includes("/generated/"));
    expect([...quoted].toSorted()).toEqual(files.toSorted());
  });

  test("give no figure that is not in a committed result", () => {
    let blocks = 0;
    for (const document of documents) {
      for (const [, file = "", block = ""] of read(document).matchAll(
        /<!-- from (bench\/results\/\S+) -->\n(.*?)<!-- end -->/gs,
      )) {
        const lines = read(file).split("\n");
        for (const line of block.split("\n").filter(Boolean)) expect(lines, `${file} in ${document}`).toContain(line);
        blocks += 1;
      }
    }
    expect(blocks).toBeGreaterThan(0);
  });

  test("link to files that exist", () => {
    for (const document of documents) {
      for (const [, target = ""] of read(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        expect(
          () => readdirOrFile(path.resolve(root, path.dirname(document), target)),
          `${target} in ${document}`,
        ).not.toThrow();
      }
    }
  });
});

function readdirOrFile(file: string): void {
  try {
    readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
  }
}

test("the first minute runs as it is in the README", async () => {
  await using database = await freshDatabase();
  const { child, output, closed } = start("first-minute.ts", database.url);
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
    'npx() { shift; node packages/cli/bin/pgque.js "$@"; }',
    "docs/examples/command-line/session.sh",
  ];
  const env = { ...process.env, DATABASE_URL: database.url };
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
  const { output, closed } = start("features.ts", database.url);
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

test("the example of the telemetry page makes the spans that it says", async () => {
  await using database = await freshDatabase();
  const printSpans = path.join(root, "test/support/print-spans.ts");
  const { output, closed } = start("telemetry.ts", database.url, "--import", printSpans);
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

test("the example of the page on seeing a worker is probed and scraped", async () => {
  await using database = await freshDatabase();
  const { child, output, closed } = start("seeing.ts", database.url);
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
  expect(metrics.text).toContain('pgque_messages_handled_total{queue="orders",consumer="default",outcome="done"} 2');
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
  const { child, output, closed } = start("schedules.ts", database.url);
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
  const { output, closed } = start("serializable.ts", database.url);
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
  const { output, closed } = start(file, database.url, "--test-reporter=tap");
  const code = await closed;
  expect({ code, output: output.text }).toEqual({ code: 0, output: expect.stringContaining(`# pass ${tests}\n`) });
  const client = await database.connect();
  const left = await client.query("select from pg_namespace where nspname like 'pgque\\_test%'");
  expect(left.rowCount).toBe(0);
});

test.each([
  ["client.ts", ["sent once: true", "refused: at", "streamed: true", "charge 9.9"]],
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
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(root, "docs/examples", file)], {
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
  await client.query("select pgque.create_queue('orders placed'), pgque.subscribe('orders placed', 'c')");
  const { output, closed } = start(path.relative("docs/examples", file), database.url);
  const code = await closed;
  expect({ code, output: output.text }).toEqual({ code: 0, output: "" });
  const { rows } = await client.query(
    "select id, payload::jsonb from public.orders, pgque.receive('orders placed', 'c')",
  );
  expect(rows).toEqual([{ id: 1, payload: { orderId: 1 } }]);
});

test("the worker's page runs as it is", async () => {
  await using database = await freshDatabase();
  const client = await database.connect();
  const { child, output, closed } = start("worker.ts", database.url);
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

test("the SQL of the README runs as it is", async () => {
  await using database = await freshDatabase();
  const client = await database.connect();
  const results = (await client.query(read("docs/examples/by-hand.sql"))) as unknown as {
    rows: Record<string, unknown>[];
  }[];
  expect(results.flatMap(({ rows }) => rows).find((row) => "payload" in row)).toMatchObject({
    type: "welcome",
    payload: '{"to": "ada@example.org"}',
  });
});

test("the queries of the operations page run as they are", async () => {
  await using database = await freshDatabase();
  const client = await database.connect();
  await client.query(
    "select pgque.create_queue('orders', '{\"max_retries\": 0}'), pgque.subscribe('orders', 'c'), pgque.send('orders', 'x')",
  );
  await client.query("select pgque.event_retry(batch_id, msg_id, 0) from pgque.receive('orders', 'c')");
  const results = (await client.query(read("docs/examples/monitoring.sql"))) as unknown as {
    rows: Record<string, unknown>[];
  }[];
  expect(results.map(({ rows }) => rows.length)).toEqual([expect.any(Number), 1, 1, 0, 1, 1]);
  expect(results[0]?.rows.map((row) => row["component"])).toContain("maintenance");
  // a procedure that commits is called by itself
  await client.query(read("docs/examples/maintain.sql"));
});

test("the grants of the operations page do what they say", async () => {
  await using database = await ownServer();
  const client = await database.connect();
  await client.query("select pgque.create_queue('orders'), pgque.create_queue('invoices')");
  await client.query("create role shop; create role billing; create role dashboard; create role oncall");
  await client.query(read("docs/examples/roles.sql"));
  const may = async (role: string, call: string): Promise<boolean> => {
    await client.query(`set role ${role}`);
    const code = await client.query(`select pgque.${call}`).then(
      () => "",
      (error) => error.code,
    );
    await client.query("reset role");
    expect(code).toMatch(/^$|42501/);
    return code === "";
  };
  const calls = [
    "send('orders', 'x')",
    "send('invoices', 'x')",
    "subscribe('orders', 'c')",
    "subscribe('invoices', 'c')",
  ];
  const table = async (role: string) => {
    const row: boolean[] = [];
    for (const call of [...calls, "status()"]) row.push(await may(role, call));
    return row;
  };
  expect(await table("shop")).toEqual([true, true, false, false, false]);
  expect(await table("billing")).toEqual([false, true, true, false, false]);
  expect(await table("dashboard")).toEqual([false, false, false, false, true]);
  expect(await table("oncall")).toEqual([true, true, true, true, true]);
});
