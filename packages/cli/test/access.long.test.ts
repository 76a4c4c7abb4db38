import { afterAll, expect, test } from "vitest";
import { ownServer } from "../../../test/support/database.ts";
import { pgque } from "./support/pgque.ts";

const database = await ownServer();
afterAll(() => database.drop());
const owner = await database.connect();
await owner.query("select pgque.create_queue('q'), pgque.subscribe('q', 'c', '{\"mode\": \"shared\"}')");
await owner.query("select pgque.schedule('s', 'q', '* * * * *', '1')");
for (const role of ["viewer", "reader", "writer", "admin"]) {
  await owner.query(`create role a_${role} login password 's3cret' in role pgque_${role}`);
}
await owner.query("create role nobody login password 's3cret'");

function as(role: string, ...args: string[]) {
  const url = new URL(database.url);
  [url.username, url.password] = [role, "s3cret"];
  return pgque(args, { DATABASE_URL: url.href });
}

const commands: [needed: string, others: string[], command: string][] = [
  ["admin", ["a_viewer", "a_reader", "a_writer", "nobody"], "queue set q --max-retries 4"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "queue pause q"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "queue resume q"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "queue purge q --yes"],
  ["viewer", ["a_writer", "nobody"], "queue list"],
  ["viewer", ["a_writer", "nobody"], "queue show q"],
  ["viewer", ["a_writer", "nobody"], "consumer list"],
  ["reader", ["a_viewer", "a_writer", "nobody"], "consumer move q c --to latest --yes"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "consumer set q c --rate-limit 5"],
  ["writer", ["a_viewer", "a_reader", "nobody"], "send q 1"],
  ["reader", ["a_viewer", "a_writer", "nobody"], "receive q --consumer c"],
  ["viewer", ["a_writer", "nobody"], "peek q"],
  ["viewer", ["a_writer", "nobody"], "tail q"],
  ["viewer", ["a_writer", "nobody"], "dlq list q"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "dlq redrive q --all"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "dlq purge q --all --yes"],
  ["viewer", ["a_writer", "nobody"], "schedule list"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "schedule pause s"],
  ["admin", ["a_viewer", "a_reader", "nobody"], "schedule remove s --yes"],
];

test.each(commands)(
  "a member of pgque_%s may, %j may not, and is told who may: %s",
  async (needed, others, command) => {
    for (const role of others) {
      const { code, out, err } = await as(role, ...command.split(" "));
      expect({ role, code, out }).toEqual({ role, code: 1, out: "" });
      expect(err).toContain(`This command needs a member of the role pgque_${needed}: grant it, or connect as another`);
      expect(err).not.toContain("s3cret");
    }
    expect(await as(`a_${needed}`, ...command.split(" "))).toMatchObject({ code: 0, err: "" });
  },
);

test("a wrong password is another matter, and is not shown", async () => {
  const url = new URL(database.url);
  [url.username, url.password] = ["a_reader", "wr0ng"];
  const { code, err } = await pgque(["queue", "list", "--database-url", url.href]);
  expect(code).toBe(1);
  expect(err).toContain("password authentication failed");
  expect(err).toContain("Check user and password");
  expect(err).not.toContain("wr0ng");
});

test("a database without the schema says how to install it", async () => {
  await using empty = await database.fresh();
  const client = await empty.connect();
  await client.query("drop schema pgque cascade");
  const { code, err } = await pgque(["queue", "list"], { DATABASE_URL: empty.url });
  expect(code).toBe(1);
  expect(err).toContain("Install it with `pgque install`, or name another with --schema");
});
