/** A statement of the schema, without its semicolon. */
export interface Statement {
  /** The file that it stands in. */
  file: string;
  sql: string;
  /**
   * `object`: a table, a type, an index, a sequence, their comments and first rows; run by a first install alone, and changed by migrations.
   * `routine`: a function, a procedure, a view; written anew by every upgrade, as are the settings of all functions, `setting`, and the rights to
   * them, `right`.
   */
  kind: "object" | "routine" | "setting" | "right";
}

/** The same routine or view, whether or not it is there: only `create` may say so in the schema. */
export function orReplaced(sql: string): string {
  return sql.replace(/^create\s+(?=function|procedure|view)/i, "create or replace ");
}
