import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { freshCli } from "./support/cli.ts";
import { bin, environment, pgque } from "./support/pgque.ts";

test("--version is the package's", async () => {
  const { version } = JSON.parse(await readFile(path.join(import.meta.dirname, "../package.json"), "utf8"));
  expect(await pgque(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
});

test("help names every command and the exit codes", async () => {
  const { code, out } = await pgque(["--help"]);
  expect(code).toBe(0);
  const commands = [
    "install",
    "uninstall",
    "sql",
    "queue",
    "consumer",
    "send",
    "receive",
    "peek",
    "tail",
    "dlq",
    "schedule",
    "worker",
    "doctor",
    "guard",
    "top",
    "dashboard",
    "bench",
  ];
  for (const command of commands) expect(out).toMatch(new RegExp(`^  ${command} `, "m"));
  expect(out).toContain("Exit codes: 0 done, 1 failed, 2 wrong usage");
});

test.each([
  [[], "Usage: pgque"],
  [["instal"], "unknown command 'instal'"],
  [["install", "--shema", "x"], "unknown option '--shema'"],
  [["install"], "expected a database, found none"],
  [["install", "--database-url", "mysql://localhost/x"], "expected --database-url to be a connection string"],
  [["install", "--schema", "pg_mine", "--database-url", "postgres://localhost/x"], "expected --schema to be a name"],
  [["worker"], "expected a folder of tasks, found none"],
])("%j is wrong usage: exit code 2 and what was expected", async (args, message) => {
  const { code, err, out } = await pgque(args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

test("a database that does not answer is named, its password is not", async () => {
  const { code, err } = await pgque(["install", "--database-url", "postgres://ada:s3cret@127.0.0.1:1/orders"]);
  expect(code).toBe(1);
  expect(err).toContain('could not connect to database "orders" at 127.0.0.1:1: connect ECONNREFUSED');
  expect(err).not.toContain("s3cret");
});

test.each([
  ["queue", "list"],
  ["send", "q", "1"],
  ["tail", "-f", "q"],
  ["dlq", "redrive", "q", "--all"],
])("a database that is away fails at once: %s %s", async (...args) => {
  const { code, out, err } = await pgque([...args, "--database-url", "postgres://ada:s3cret@127.0.0.1:1/orders"]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("could not connect to the database at 127.0.0.1:1");
  expect(err).toContain("Check that a server runs there, and listens on that address and port");
  expect(err).not.toContain("s3cret");
});

test("a connection string that does not parse is not shown", async () => {
  const { code, err } = await pgque(["install", "--database-url", "postgres://ada:s3cret@host:port/orders"]);
  expect(code).toBe(2);
  expect(err).not.toContain("s3cret");
});

test("too old a Node is told which one is needed", async () => {
  const pretend = "Object.defineProperty(process.versions,'node',{value:'20.19.0'})";
  const child = spawn(process.execPath, ["--import", `data:text/javascript,${pretend}`, bin, "--version"], {
    env: environment(),
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  expect(await text(child.stderr)).toContain("pgque needs Node.js 22.18 or newer, this is 20.19.0");
  expect(await exited).toBe(1);
});

describe("what the database refuses is told in the words of the command line", async () => {
  const { client, run } = await freshCli();
  beforeAll(async () => {
    await client.ensure("max_orders");
    await client.ensure(defineQueue("urgent", { priorities: 3 }));
    await client.subscribe("max_orders", "max_billing");
    await client.schedules.set("nightly", "max_orders", "0 3 * * *", null);
  });

  test.each<[string[], string]>([
    [
      ["send", "max_orders", "1", "--priority", "3"],
      "queue 'max_orders' has no priorities. A queue is created with --priorities 10",
    ],
    [["send", "urgent", "1", "--priority", "3"], "expected --priority to be an integer from 0 to 2, got: 3"],
    [["send", "max_orders", "1", "--expires", "1h"], "`pgque queue set QUEUE --allow-expiry on` lets them"],
    [["send", "max_orders", "1", "--delay", "40000d"], "expected --delay to be from 0ms to 36500d, got: 40000d"],
    [["send", "max_orders", "1", "--header", String.raw`a="\u0000"`], "expected headers that the database can store"],
    [["send", "max_orders", "1", "--header", String.raw`a="\ud800"`], "expected headers that the database can store"],
    [["peek", "max_orders", "--after", "x"], "expected --after to be a position"],
    [["dlq", "list", "max_orders", "--older-than", "1000000d"], "Expected an age of at most 100 years"],
    [["queue", "set", "max_orders", "--partitions", "16"], "queue 'max_orders' was created without --partitions"],
    [
      ["queue", "set", "urgent", "--priorities", "2"],
      "expected --priorities of queue 'urgent' to be 3 or more, got: 2",
    ],
    [["queue", "create", "x", "--max-lag", "0s"], "expected --max-lag to be from 1ms to 3650d, got: 0ms"],
    [["consumer", "set", "max_orders", "max_billing", "--on-failure", "skip"], "expected --on-failure for a consumer"],
    [["consumer", "add", "max_orders", "x", "--mode", "ordered"], "Create it with --partitions 16"],
    [["consumer", "add", "max_orders", "max_billing", "--mode", "exclusive"], "'max_billing' is shared, not exclusive"],
    [["schedule", "run", "nightly", "--at", "2020-01-01T00:00:00Z"], "expected --at to be at most 1 day ago"],
    [["schedule", "run", "nightly", "--at", "2090-01-01T00:00:00Z"], "expected --at to have come"],
    [["schedule", "set", "x", "max_orders", `${"0,".repeat(120)}0 0 * * *`], "expected the cron expression to be"],
    [["schedule", "set", "x", "max_orders", "@daily", "1", "--catch-up", "1441"], "Expected skip, once or a number"],
  ])("as wrong usage: %#", async (call, said) => {
    const { code, out, err } = await run(...call);
    expect({ call, code, out, err }).toEqual({ call, code: 2, out: "", err: expect.stringContaining(said) });
    expect(err).not.toMatch(/Known options|run_at|_ms\b|\bMs\b/);
  });

  test.each<[string[], string]>([
    [
      ["queue", "drop", "max_orders", "--yes"],
      "has consumers: max_billing. Unsubscribe them first, or drop it with --force",
    ],
    [["schedule", "pause", "weekly"], "`pgque schedule list` shows those that are there"],
    [["dlq", "show", "max_orders", "9223372036854775807"], "expected a dead letter 9223372036854775807"],
    [["send", "nowhere", "1"], "queue not found: nowhere"],
  ])("as a failure of what was asked for: %#", async (call, said) => {
    const { code, out, err } = await run(...call);
    expect({ call, code, out, err }).toEqual({ call, code: 1, out: "", err: expect.stringContaining(said) });
  });
});
