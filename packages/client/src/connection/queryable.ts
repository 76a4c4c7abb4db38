/** A statement, as `pg` takes it. */
export interface Statement {
  text: string;
  /** Its parameters `$1`, `$2`, …: each occurs once, in order, and is a text or null. */
  values?: unknown[];
  /** Given when the statement is to be prepared under this name, once per connection. */
  name?: string;
}

/**
 * What runs statements: a `Pool`, `Client` or `PoolClient` of `pg`, or anything that answers like them. Ids and JSON come back as
 * text and are read by this client, columns by their place: type parsers do not matter, nor what columns are renamed to.
 */
export interface Queryable {
  query(statement: Statement): Promise<{ rows: Record<string, unknown>[] }>;
}
