import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { checkRepaired, drain, work } from "../../sql/test/repair/work.ts";
import { asAdmin, databaseUrl } from "../support/server.ts";
import { ownServer, type OwnServer } from "../support/database.ts";
import { until } from "../support/until.ts";
import { programs } from "./programs.ts";

const run = promisify(execFile);

test.each([
  ["a transaction for each object", []],
  ["a single transaction", ["--single-transaction"]],
  ["several sessions", ["--jobs", "2"]],
])(
  "pg_dump and pg_restore in %s, then repair: what was not settled comes once and nothing else",
  async (_, options) => {
    await using source = await ownServer({ major: 15 });
    await using target = await ownServer({ major: 15 });
    const ledger = await work(source);
    await dumpAndRestore(source, target, options);
    const client = await target.connect();
    await expect(client.query("select pgque.receive('orders', 'a')")).rejects.toMatchObject({ code: "PQ007" });
    await client.query("select pgque.repair()");
    await checkRepaired(target, ledger);

    // and once more, into a cluster that is just as new as the one before
    await using further = await ownServer({ major: 15 });
    await client.query("select pgque.send('orders', 'moves on')");
    await dumpAndRestore(target, further, options);
    const next = await further.connect();
    await expect(next.query("select pgque.send('orders', 'x')")).rejects.toMatchObject({ code: "PQ007" });
    await next.query("select pgque.repair()");
    const { rows } = await next.query("select payload from pgque.receive('orders', 'b')");
    expect(rows).toEqual([{ payload: "moves on" }]);
  },
);

test("logical replication, while the queues are in use, then repair: what was not settled comes once and nothing else", async () => {
  await using source = await ownServer({ major: 15 });
  await using target = await ownServer({ major: 15 });
  const ledger = await work(source);
  await dumpAndRestore(source, target, [], ["--schema-only"]);
  const publisher = await source.connect();
  const subscriber = await target.connect();
  await publisher.query("create publication everything for tables in schema pgque");
  await subscriber.query(`create subscription everything connection '${source.url}' publication everything`);
  await until(async () => {
    const { rows } = await subscriber.query("select from pg_subscription_rel where srsubstate <> 'r'");
    return rows.length === 0;
  }, "the tables are copied");

  ledger.settled("mails", "m", await drain(publisher, "mails", "m"));
  await publisher.query("select pgque.send('unread', 'four'), pgque.send('orders', 'one more')");
  ledger.sent("unread", ["four"]);
  ledger.sent("orders", ["one more"]);
  ledger.settled("orders", "b", await drain(publisher, "orders", "b"));
  await until(async () => {
    const { rows } = await publisher.query(
      "select replay_lsn >= pg_current_wal_lsn() as is_there from pg_stat_replication",
    );
    return rows[0]?.is_there === true;
  }, "all of it has arrived");
  await expect(subscriber.query("select pgque.receive('orders', 'a')")).rejects.toMatchObject({ code: "PQ007" });
  await subscriber.query("drop subscription everything");
  await subscriber.query("select pgque.repair()");
  await checkRepaired(target, ledger);
});

/** Replaces the database of a server by a copy of another's. */
async function dumpAndRestore(
  source: OwnServer,
  target: OwnServer,
  options: string[],
  dumpOptions: string[] = [],
): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-dump-"));
  const file = path.join(folder, "dump");
  try {
    const name = new URL(target.url).pathname.slice(1);
    await asAdmin(target.server.url, async (admin) => {
      await admin.query(`drop database ${name}`);
      await admin.query(`create database ${name}`);
    });
    await run(`${programs}/pg_dump`, ["--format=custom", "--file", file, ...dumpOptions, source.url]);
    await run(`${programs}/pg_restore`, [
      "--exit-on-error",
      ...options,
      "--dbname",
      databaseUrl(target.server.url, name),
      file,
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
