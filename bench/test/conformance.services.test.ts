import { expect, test } from "vitest";
import { freshDatabase, ownServer } from "../../test/support/database.ts";
import { systemNamed } from "#src/adapters/registry";
import type { SqlFiles } from "#src/adapters/adapter";
import { deliverySecondsMax, expectEachDeliveredOnce, noSqlFiles } from "./delivery.ts";

const timeout = 2 * deliverySecondsMax * 1000;

test.each(["redis-batch", "bullmq"])(
  "%s delivers each of 10,000 messages exactly once to four consumers",
  { timeout },
  async (name) => {
    await using database = await freshDatabase();
    await expectEachDeliveredOnce(systemNamed(name), database);
  },
);

const files: [string, SqlFiles][] = [
  ["pgmq", { ...noSqlFiles, pgmq: process.env["PGQUE_TEST_PGMQ_SQL"] ?? "" }],
  ["pgq", { ...noSqlFiles, pgq: process.env["PGQUE_TEST_PGQ_SQL"] ?? "" }],
];

// PgQ creates roles: on a server of its own
test.each(files)(
  "%s, of its SQL file, delivers each of 10,000 messages exactly once",
  { timeout },
  async (name, sqlFiles) => {
    await using database = await ownServer();
    await expectEachDeliveredOnce(systemNamed(name), database, sqlFiles);
  },
);

test("a system whose SQL file cannot be read says which option named it", async () => {
  await using database = await freshDatabase();
  const sqlFiles = { ...noSqlFiles, pgq: "/nowhere/pgq.sql" };
  await expect(expectEachDeliveredOnce(systemNamed("pgq"), database, sqlFiles)).rejects.toThrow(
    "expected --pgq-sql to be an SQL file that can be read, got: /nowhere/pgq.sql",
  );
});
