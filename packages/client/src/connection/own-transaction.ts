import type { Pool, PoolClient } from "pg";
import type { Statement } from "./queryable.ts";
import { field } from "../options/field.ts";
import { pooledQuery, type Result } from "./abortable.ts";

const begin = "begin isolation level read committed, read write";

/** A refusal was also that of a connection whose primary has become a standby. */
const isUnusual = `
  select current_setting('default_transaction_isolation') <> 'read committed' or current_setting('default_transaction_read_only') = 'on' as yes`;

/** Pools whose role or database has another isolation level by default, or is read-only. */
const unusual = new WeakSet<Pool>();

/** The functions need another isolation level (PQ005), or a transaction that may write. Nothing was executed. */
const refusals = new Set<unknown>(["PQ005", "25006"]);

/** What the server says to `read write` on a standby. */
const onStandby = "0A000";

/**
 * Runs a statement that is a transaction of its own. Where the defaults of the role or the database do not suit, in one that is begun for it, from
 * the first refusal on: two more round trips.
 */
export async function inSuitableTransaction(pool: Pool, statement: Statement, signal: AbortSignal): Promise<Result> {
  if (!unusual.has(pool)) {
    try {
      return await pooledQuery(pool, statement, signal);
    } catch (error) {
      if (!refusals.has(field(error, "code"))) throw error;
    }
  }
  const begun = { isStandby: false };
  try {
    return await pooledQuery(pool, statement, signal, async (client) => {
      await client.query(begin).catch((error: unknown) => {
        begun.isStandby = field(error, "code") === onStandby;
        throw error;
      });
      if (!unusual.has(pool) && (await client.query(isUnusual)).rows[0].yes) unusual.add(pool);
      return committed(client, statement);
    });
  } catch (error) {
    if (!begun.isStandby) throw error;
  }
  // its own error says more
  return pooledQuery(pool, statement, signal);
}

/** A failure ends the connection, and so the transaction. */
async function committed(client: PoolClient, statement: Statement): Promise<Result> {
  const result = await client.query(statement);
  await client.query("commit");
  return result;
}
