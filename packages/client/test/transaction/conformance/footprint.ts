import { expect, inject, test } from "vitest";
import { defineQueue, Pgque, type Transaction } from "@pgque/client";
import { Client } from "pg";
import { freshDatabase, ownServer } from "../../../../../test/support/database.ts";
import { databaseUrl } from "../../../../../test/support/server.ts";
import type { Library } from "../library.ts";

/** What `inTransaction` does to the application's connections. */
export function footprint<Tx extends Transaction>(library: Library<Tx>): void {
  test("begins, commits and sets nothing, and needs no connection but the transaction's", async () => {
    await using server = await ownServer({
      settings: { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.max": 1000 },
    });
    const url = direct(server.url, server.server.url);
    const admin = new Client(url);
    admin.on("error", () => undefined);
    await admin.connect();
    await admin.query("create extension pg_stat_statements schema public");
    const events = defineQueue("events");
    const setup = new Pgque(admin);
    await setup.ensure(events);
    await setup.subscribe(events);

    const app = await library.open(url, 1);
    // there is no database at this address
    const pgque = new Pgque("postgres://127.0.0.1:1/nowhere");
    const commands = async (work: (tx: Tx) => Promise<unknown>) => {
      await admin.query("select public.pg_stat_statements_reset()");
      await app.transaction(work);
      const { rows } = await admin.query(
        `select query, calls::int from public.pg_stat_statements
          where dbid = (select oid from pg_database where datname = current_database())
            and (query !~* '^\\s*select' or query ~* 'set_config|savepoint|advisory')
            and query !~* 'pg_stat_statements'
          order by 1`,
      );
      return rows;
    };
    const nothing = (tx: Tx) => app.run(tx, "select 1");
    await commands(nothing); // what the library does with a new connection
    const own = await commands(nothing);
    const ours = await commands(async (tx) => {
      const mine = pgque.inTransaction(tx);
      await mine.send(events, 1);
      await mine.sendMany(events, [2, 3]);
      const batch = await mine.receive(events);
      await mine.ack(batch.id ?? "4096");
    });
    await app.end();
    await admin.end();
    expect(own).not.toEqual([]);
    expect(ours).toEqual(own);
  });

  test("works with prepared statements on, and in a serializable transaction", async () => {
    await using database = await freshDatabase();
    const url = direct(database.url, inject("serverUrl"));
    const events = defineQueue("events");
    await using pgque = new Pgque(url, { prepare: true });
    await pgque.ensure(events);
    const app = await library.open(url, 1);
    for (const i of [1, 2]) {
      await app.transaction((tx) => pgque.inTransaction(tx).send(events, i), "serializable");
    }
    await app.end();
    await pgque.subscribe(events, "default", { from: "earliest" });
    expect((await pgque.receive(events)).messages.map((message) => message.payload)).toEqual([1, 2]);
  });
}

/** The address of a database on its server, without the pooler that there may be between. */
function direct(url: string, serverUrl: string): string {
  return databaseUrl(serverUrl, new URL(url).pathname.slice(1));
}
