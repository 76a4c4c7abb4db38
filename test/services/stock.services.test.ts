import { startPostgres } from "@pgque/postgres";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { ownServer } from "../support/database.ts";
import { testServers, testSettings } from "../support/server.ts";
import { runSuite } from "../support/suite.ts";

// Servers as people have them: Debian's packages, with LLVM and jit = on, their own defaults, and autovacuum as it comes. The embedded servers of
// the other tests have no LLVM.

function programsOf(major: number): string {
  const bin = process.env[`PGQUE_TEST_STOCK_${major}`];
  if (bin === undefined) throw new Error(`expected PGQUE_TEST_STOCK_${major}, which npm run test:services sets`);
  return bin;
}

const stock = [
  { major: 15, bin: programsOf(15), folders: ["sql/test", "packages/client/test", "packages/worker/test"] },
  // what client and worker do with their connections is not another thing on another server: their suites run on one
  { major: 17, bin: programsOf(17), folders: ["sql/test"] },
];

describe.each(stock)("on PostgreSQL $major as Debian ships it", ({ bin, folders }) => {
  test("statements are compiled by default, and no setting is changed but what tests need", async () => {
    await using server = await startPostgres({ ...testServers(bin), settings: testSettings });
    const client = new Client(server.url);
    await client.connect();
    const { rows: jit } = await client.query("select pg_jit_available() as available, current_setting('jit') as jit");
    // what initdb writes into the file is how it is installed
    const { rows: changed } = await client.query(
      `select name from pg_settings
        where source not in ('default', 'override', 'configuration file', 'client') and setting is distinct from boot_val order by name`,
    );
    await client.end();
    expect(jit).toEqual([{ available: true, jit: "on" }]);
    expect(changed.map(({ name }) => name)).toEqual([
      // where it is
      "listen_addresses",
      // three files of tests at a time, of a few processes each
      "max_connections",
      // messages that are sent by two-phase commit, which is off by default
      "max_prepared_transactions",
      "port",
      "unix_socket_directories",
      // horizons that are held by a logical slot
      "wal_level",
    ]);
  });

  test("no statement of Pgque is compiled", async () => {
    await using own = await ownServer({
      bin,
      durable: true,
      settings: { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track": "all" },
    });
    const client = await own.connect();
    const run = async (...statements: string[]): Promise<void> => {
      for (const statement of statements) await client.query(statement);
    };
    await run("create extension pg_stat_statements schema public");
    for (let n = 1; n <= 30; n += 1) {
      await run(`select pgque.create_queue('q ${n}')`, `select pgque.subscribe('q ${n}', 'c', '{"mode": "shared"}')`);
    }
    await run(
      "select pgque.send_batch('q 1', array(select n::text from generate_series(1, 50000) n))",
      `select pgque.send('q 1', 'default', 'later', '{"delay": "1 s"}')`,
    );
    for (let n = 0; n < 3; n += 1) {
      const { rows } = await client.query(
        "select batch_id, message_id from pgque.receive_messages('q 1', 'c', max_messages => 1000)",
      );
      const ids = rows.slice(0, 10).map(({ message_id: id }) => id as string);
      const one = { batch: rows[0].batch_id as string, ids };
      await client.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
        one.batch,
        one.ids,
      ]);
      await client.query("select pgque.bury($1, $2, 'bad')", [one.batch, [rows[10].message_id]]);
      await client.query("select pgque.ack($1)", [one.batch]);
      await run(
        "select pgque.maintain()",
        "call pgque.maintain_all()",
        "select * from pgque.status()",
        "select * from pgque.queue_status()",
        "select * from pgque.consumer_status()",
        "select * from pgque.segment_status('q 1')",
        "select * from pgque.peek('q 1', 'c')",
        "select * from pgque.dead_letters('q 1')",
        "select pgque.redrive('q 1')",
        `select * from pgque.find_message('q 1', ${one.ids[0] ?? 0})`,
        "select * from pgque.maintenance_status(), pgque.lost_batches()",
        "select * from pgque.waiting_lanes()",
      );
    }
    // one that is: so this would see it
    await run("set jit_above_cost = 0", "select count(*) from pg_catalog.pg_class");
    const { rows: compiled } = await client.query<{ query: string }>(
      "select query from public.pg_stat_statements where jit_functions > 0",
    );
    expect(compiled.map(({ query }) => query)).toEqual(["select count(*) from pg_catalog.pg_class"]);
  });

  test(`all tests of ${folders.join(" and ")} pass`, { timeout: 1_500_000, retry: 0 }, async () => {
    expect(await runSuite(folders, { PGQUE_TEST_BIN: bin })).toEqual({ code: 0, output: "" });
  });
});
