import type { Client } from "pg";
import type { TestDatabase } from "../../../../test/support/database.ts";

/** A transaction that holds the horizon until it is let go. */
export interface HeldTransaction {
  client: Client;
  pid: number;
  /** The connection was ended by somebody else. */
  isGone(): boolean;
}

/** Opens a transaction and runs a statement in it, after which it is idle. */
export async function holdTransaction(
  database: Pick<TestDatabase, "connect">,
  { begin = "begin", statement = "select 1", application = "holder" } = {},
): Promise<HeldTransaction> {
  const client = await database.connect();
  let gone = false;
  client.on("end", () => (gone = true));
  await client.query(`set application_name = '${application}'`);
  await client.query(begin);
  await client.query(statement);
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return { client, pid: rows[0]?.pid ?? 0, isGone: () => gone };
}

/** What a report does: a snapshot, and no transaction id. */
export const repeatableRead = { begin: "begin isolation level repeatable read" };

/** What has written and forgot to commit: a transaction id, and no snapshot. */
export const written = { statement: "select pg_current_xact_id()" };
