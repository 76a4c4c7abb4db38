import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { freshDatabase, ownServer } from "./support/database.ts";
import { describeExamples } from "./support/describe-examples.ts";

const root = path.resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

describeExamples(process.execPath, process.versions.node);

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
