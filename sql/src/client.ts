/** One connection to Postgres: a `Client` or `PoolClient` of `pg`, or anything that answers a query like them. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** An identifier as the server itself quotes it, so that any name is safe to put into a statement. */
export async function quoteIdentifier(client: SqlClient, name: string): Promise<string> {
  const { rows } = await client.query("select pg_catalog.format('%I', $1::text) as quoted", [name]);
  return String(only(rows));
}

/** The only column of the only row, whatever its name: drivers can be set to rename columns. */
export function only(rows: readonly Record<string, unknown>[]): unknown {
  return Object.values(rows[0] ?? {})[0];
}
