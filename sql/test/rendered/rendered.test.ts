import { afterAll, beforeAll, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { explainable } from "./explainable.ts";

// sql/rendered is what a reader reads instead of the templates: what the schema writes for a queue. Written anew by
// `npm test -- sql/test/rendered -u`.

/** The queues that are shown. Each is queue 1 of a schema of its own. */
const kinds: Record<string, object> = {
  plain: {},
  priorities: { priorities: 10 },
  partitions: { partitions: 16 },
  expiry: { allow_expiry: true },
  cancel: { allow_cancel: true },
};

const databases: TestDatabase[] = [];
const clients: Record<string, pg.Client> = {};

beforeAll(async () => {
  for (const [kind, options] of Object.entries(kinds)) {
    const database = await freshDatabase();
    databases.push(database);
    clients[kind] = await database.connect();
    await clients[kind].query("select pgque.create_queue('q', $1)", [options]);
  }
});
afterAll(() => Promise.all(databases.map((database) => database.drop())));

/** The functions of the queue, by their names without its number. */
async function functionsOf(kind: string): Promise<Record<string, string>> {
  const { rows } = await clients[kind]!.query(
    `select regexp_replace(p.proname, '_1$', '') as name, pg_get_functiondef(p.oid) as definition
       from pg_proc p where p.pronamespace = 'pgque'::regnamespace and p.proname ~ '_1$' order by 1`,
  );
  return Object.fromEntries(rows.map(({ name, definition }) => [name, definition]));
}

for (const kind of Object.keys(kinds)) {
  test(`the functions of a queue with ${kind} are those of sql/rendered/${kind}`, async () => {
    const functions = await functionsOf(kind);
    const named = Object.keys(functions);
    expect(named).toEqual([
      "ack",
      "consumer_status",
      ...(kind === "partitions" ? ["lane_of"] : []),
      "receive",
      "send",
      "send_batch",
    ]);
    for (const [name, definition] of Object.entries(functions))
      await expect(`${definition.trimEnd()};\n`).toMatchFileSnapshot(`../../rendered/${kind}/${name}.sql`);
  });
}

test("the statement in which a plain queue is received from can be explained, and reads the messages by their index", async () => {
  const { receive = "" } = await functionsOf("plain");
  const script = explainable(receive);
  await expect(script).toMatchFileSnapshot("../../rendered/plain/explain_receive.sql");
  const results = (await clients["plain"]!.query(script)) as unknown as pg.QueryResult[];
  const plan = results.flatMap(({ rows }) => rows.map((row) => row["QUERY PLAN"])).join("\n");
  expect(plan).toMatch(/Index Scan using message_1_\d_lane_txid_seq_idx on message_1_\d/);
  expect(plan).not.toMatch(/Seq Scan|-> +Sort/);
});
