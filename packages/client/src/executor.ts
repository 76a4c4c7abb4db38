/** A statement with its parameters, as `pg` takes it. */
export interface Statement {
  text: string;
  values?: unknown[];
  /** Given when the statement is to be prepared under this name, once per connection. */
  name?: string;
}

/**
 * What runs statements: a `Pool`, `Client` or `PoolClient` of `pg`, or anything that answers like them. Ids and JSON come back as
 * text and are read by this client, so that it does not matter which type parsers the connection or the process has.
 */
export interface Executor {
  query(statement: Statement): Promise<{ rows: Record<string, unknown>[] }>;
}
