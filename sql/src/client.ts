/** One connection to Postgres: a `Client` or `PoolClient` of `pg`, or anything that answers a query like them. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** An identifier as the server itself quotes it, so that any name is safe to put into a statement. */
export async function quoteIdentifier(client: SqlClient, name: string): Promise<string> {
  const { rows } = await client.query("select format('%I', $1::text) as quoted", [name]);
  return String(rows[0]?.["quoted"]);
}
