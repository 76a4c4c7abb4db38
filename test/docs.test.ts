import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { freshDatabase, ownServer } from "./support/database.ts";
import { until } from "./support/until.ts";

const root = path.resolve(import.meta.dirname, "..");
const documents = [
  "README.md",
  "sql/README.md",
  ...readdirSync(path.join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

describe("documents", () => {
  test("quote the examples as they are, every one of them", () => {
    const quoted = new Set<string>();
    for (const document of documents) {
      for (const [, file = "", code] of read(document).matchAll(/<!-- (docs\/examples\/\S+) -->\n```\w+\n(.*?)```/gs)) {
        expect(code, `${file} in ${document}`).toBe(read(file));
        quoted.add(path.basename(file));
      }
    }
    expect([...quoted].toSorted()).toEqual(readdirSync(path.join(root, "docs", "examples")).toSorted());
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
  const child = spawn(process.execPath, [path.join(root, "docs/examples/first-minute.ts")], {
    env: { ...process.env, DATABASE_URL: database.url },
  });
  const output = { text: "" };
  child.stdout.on("data", (data: Buffer) => (output.text += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output.text += data.toString()));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  await until(
    () => child.exitCode !== null || (output.text.includes("charged 42") && output.text.includes("charged 43")),
    `both orders are charged, got: ${output.text}`,
  );
  child.kill("SIGTERM");
  expect({ code: await exited, output: output.text.split("\n").toSorted() }).toEqual({
    code: 0,
    output: ["", "charged 42", "charged 43"],
  });
});

test("the features do what their page says", async () => {
  await using database = await freshDatabase();
  const child = spawn(process.execPath, [path.join(root, "docs/examples/features.ts")], {
    env: { ...process.env, DATABASE_URL: database.url },
  });
  const output = { text: "" };
  child.stdout.on("data", (data: Buffer) => (output.text += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output.text += data.toString()));
  const code = await new Promise((resolve) => child.once("close", resolve));
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
  await client.query("create role shop; create role billing; create role oncall");
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
  expect(await table("oncall")).toEqual([true, true, true, true, true]);
});
