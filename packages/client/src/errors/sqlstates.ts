import type { PgqueErrorCode } from "./errors.ts";

/**
 * What the SQLSTATE of a failed statement means, five characters or the two of a class; five count for more. What is not here comes as the
 * driver threw it. An attempt to connect that fails is another matter: see `codeOfConnect`.
 */
export const sqlstates = {
  PQ001: "QUEUE_NOT_FOUND",
  PQ002: "CONSUMER_NOT_FOUND",
  PQ003: "NOT_IN_BATCH",
  PQ004: "INVALID_ARGUMENT",
  PQ005: "ISOLATION_LEVEL",
  PQ006: "LEASE_LOST",
  PQ007: "REPAIR_NEEDED",
  /** The server cannot store what a function was given. */
  "22": "INVALID_ARGUMENT",
  /** The schema was checked at first use: it was dropped or replaced since. */
  "42883": "SCHEMA_NOT_INSTALLED",
  "42P01": "SCHEMA_NOT_INSTALLED",
  "3F000": "SCHEMA_NOT_INSTALLED",
  "28": "ACCESS_DENIED",
  "42501": "ACCESS_DENIED",
  /** Of a pooler too, for a client that it has taken and finds no server for. */
  "3D000": "DATABASE_UNREACHABLE",
  "53300": "DATABASE_UNREACHABLE",
  "57P03": "DATABASE_UNREACHABLE",
  "25006": "READ_ONLY",
  /** The server ended the session: it stops, it crashed, its database was dropped, or a timeout of the session or transaction is over. */
  "57P01": "CONNECTION_LOST",
  "57P02": "CONNECTION_LOST",
  "57P04": "CONNECTION_LOST",
  "57P05": "CONNECTION_LOST",
  "25P03": "CONNECTION_LOST",
  "25P04": "CONNECTION_LOST",
  "08": "CONNECTION_LOST",
} as const satisfies Readonly<Record<string, PgqueErrorCode>>;

/** Of a statement that failed; undefined: it is not about Pgque or the connection. `severity`: FATAL and PANIC end the session. */
export function codeOfStatement(sqlstate: string, severity: string): PgqueErrorCode | undefined {
  const known: Readonly<Record<string, PgqueErrorCode>> = sqlstates;
  return (
    known[sqlstate] ??
    known[sqlstate.slice(0, 2)] ??
    (severity === "FATAL" || severity === "PANIC" ? "CONNECTION_LOST" : undefined)
  );
}

/** Of an attempt to connect that failed, for whatever reason: nothing was executed. */
export function codeOfConnect(sqlstate: string): PgqueErrorCode {
  return sqlstate.startsWith("28") || sqlstate === "42501" ? "ACCESS_DENIED" : "DATABASE_UNREACHABLE";
}
