import { expect, test } from "vitest";
import { install, schemaVersion, uninstall } from "@pgque/sql";
import { defineQueue, Pgque } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const orders = defineQueue("orders");

test("a schema of any name is used when it is given", async () => {
  const schema = `We"ird %s Schema`;
  const client = await database.connect();
  await install(client, { schema });
  const weird = new Pgque(database.pool(), { schema });
  await weird.ensure(orders);
  await weird.subscribe(orders);
  await weird.send(orders, "in the other schema");
  const batch = await weird.receive(orders);
  expect(batch.messages.map((m) => m.payload)).toEqual(["in the other schema"]);
  expect(await batch.ack()).toBe(true);
  expect((await failure(pgque.send(orders, 1))).code).toBe("QUEUE_NOT_FOUND");
});

test("a schema that is not installed is named, with the command that installs it", async () => {
  const error = await failure(new Pgque(database.pool(), { schema: "it's not" }).ensure(orders));
  expect(error.code).toBe("SCHEMA_NOT_INSTALLED");
  expect(error.details).toMatchObject({
    schema: "it's not",
    host: new URL(database.url).hostname,
    port: expect.any(Number),
  });
  expect(error.message).toMatch(
    /^expected schema "it's not" of Pgque in the database at [\w.]+:\d+, database "pgque_test_\w+", found: no such schema\. /,
  );
  expect(error.hint).toContain(`npx pgque install --schema 'it'\\''s not'`);
  const usual = await failure(new Pgque(await emptyDatabase()).ensure(orders));
  expect(usual.hint).toContain("`npx pgque install`");
});

test("a schema that is installed after a failure is found, and one that is gone again is missed", async () => {
  const late = new Pgque(database.pool(), { schema: "late" });
  expect((await failure(late.ensure(orders))).code).toBe("SCHEMA_NOT_INSTALLED");
  const client = await database.connect();
  await install(client, { schema: "late" });
  expect(await late.ensure(orders)).toMatchObject({ created: true });
  await uninstall(client, { schema: "late" });
  expect((await failure(late.ensure(orders))).code).toBe("SCHEMA_NOT_INSTALLED");
  await install(client, { schema: "late" });
  expect(await late.ensure(orders)).toMatchObject({ created: true });
});

const [major, minor, patch] = schemaVersion.split(".").map(Number);

test.for<[string, string, string]>([
  ["older", "0.0.9", "`npx pgque install`"],
  [
    "newer, of another line",
    `${major}.${Number(minor) + 1}.0`,
    `npm install @pgque/client@${major}.${Number(minor) + 1}.0`,
  ],
  ["newer by a major", `${Number(major) + 1}.0.0`, `npm install @pgque/client@${Number(major) + 1}.0.0`],
])("a schema that is %s is refused: both versions, and what to do", async ([, found, command]) => {
  await setVersion(found);
  const error = await failure(new Pgque(database.pool()).send(orders, 1));
  expect(error.code).toBe("SCHEMA_VERSION");
  expect(error.details).toMatchObject({ schema: "pgque", expectedVersion: schemaVersion, foundVersion: found });
  expect(error.message).toContain(`to be of version ${schemaVersion}, found version ${found}`);
  expect(error.message).toContain(command);
});

test("a newer schema of the same line serves: in a rolling deployment it goes first", async () => {
  await setVersion(`${major}.${minor}.${Number(patch) + 1}`);
  expect(await new Pgque(database.pool()).ensure(orders)).toMatchObject({ created: true });
});

test("the schema is checked once, also by many first calls at a time", async () => {
  await setVersion(schemaVersion);
  const pool = database.pool({ max: 4 });
  const texts: string[] = [];
  const counted = new Pgque(pool, { schema: "pgque" }).on({
    query: (statement) => {
      texts.push(statement.text);
      return pool.query(statement);
    },
  });
  await Promise.all(Array.from({ length: 20 }, () => counted.send(orders, 1)));
  expect(texts.filter((text) => text.includes(".version()"))).toHaveLength(1);
  expect(texts.filter((text) => text.includes(".send("))).toHaveLength(20);
});

async function setVersion(version: string): Promise<void> {
  await database.pool().query("update pgque.meta set version = $1", [version]);
}

/** The maintenance database of the same server: there is no schema in it. */
async function emptyDatabase(): Promise<import("pg").Pool> {
  const url = new URL(database.url);
  url.pathname = "/postgres";
  return database.pool({ connectionString: url.href });
}
