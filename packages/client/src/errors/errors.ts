/** Every `code` a `PgqueError` can have, and what it means. The set is closed: a new one is a new feature. */
export const errorCodes = {
  INVALID_OPTION:
    "An option or argument is missing, unknown or out of range; found before anything was sent to the database.",
  INVALID_ARGUMENT:
    "The database refused a value, such as a payload over the queue's limit (SQLSTATE PQ004 or class 22).",
  PAYLOAD_INVALID:
    "A payload does not match the schema of its queue; `details.issues` has the path and the reason of each issue.",
  PAYLOAD_NOT_REPARSABLE:
    "A schema does not read its own output, or changes it, on a queue that stores the output; nothing was sent.",
  PAYLOAD_NOT_JSON:
    "A payload or header is not JSON: a bigint, a circular reference, undefined, a Map, or text that does not parse.",
  QUEUE_NOT_FOUND:
    "There is no queue of that name (SQLSTATE PQ001), or it was dropped while the call waited (42P01 or XX000).",
  CONSUMER_NOT_FOUND: "The queue has no consumer of that name (SQLSTATE PQ002).",
  OPTIONS_DIFFER:
    "`strict` was asked for, and the queue or consumer is there with other options; `details.differences` has each.",
  NOT_IN_BATCH: "A message id does not belong to the batch (SQLSTATE PQ003).",
  LEASE_LOST:
    "The batch or a message of it is unknown, settled already, or the lease ended and it went to another worker (SQLSTATE PQ006).",
  CALL_TIMEOUT: "What came of a message that was called was not known in time; it may still be handled.",
  MESSAGE_DEAD: "A message that was called has become a dead letter; the error's message says why.",
  RESULT_INVALID:
    "The result of a message that was called does not match the schema that was given; `details.issues` has the path and the reason of each issue.",
  ISOLATION_LEVEL: "Receive, subscribe and maintain need a READ COMMITTED transaction (SQLSTATE PQ005).",
  REPAIR_NEEDED:
    "The schema was restored, replicated or upgraded into another cluster, and `repair()` not called there yet (SQLSTATE PQ007).",
  SCHEMA_NOT_INSTALLED: "The Pgque schema is not installed in this database, or not under this name.",
  SCHEMA_VERSION: "The installed schema is of a version that this client cannot use.",
  ACCESS_DENIED: "The database refused the login, or the role lacks a privilege.",
  DATABASE_UNREACHABLE: "No connection to the database could be made; nothing was executed.",
  CONNECTION_LOST: "The connection broke during a statement; whether it took effect is not known.",
  READ_ONLY: "The database is read-only, as a standby is after a failover; nothing was executed (SQLSTATE 25006).",
  CLOSED:
    "The pool was closed before, by `close()` or by the application; or the handler whose transaction it was is over.",
} as const;

/** One of the codes. */
export type PgqueErrorCode = keyof typeof errorCodes;

/** One reason why a payload was refused. */
export interface PayloadIssue {
  /** Where in the payload, such as `items[0].price`; empty for the payload itself. In `sendMany` it starts with the index: `[3].orderId`. */
  path: string;
  /** The library's own name for it, such as `invalid_type`, if it has one. */
  code?: string;
  message: string;
}

/** An option that was given by name, and that the database has another value of. */
export interface OptionDifference {
  /** As it was given: `maxRetries`. */
  option: string;
  wanted: string | number | boolean;
  /** What it is in the database, in the same unit. Null: none, such as no limit. */
  found: string | number | boolean | null;
}

/** What an error knows, as data. Which fields are there depends on the code. */
export interface PgqueErrorDetails {
  queue?: string;
  consumer?: string;
  schema?: string;
  /** Schema version that this client needs. */
  expectedVersion?: string;
  /** Schema version that is installed. */
  foundVersion?: string;
  /** Why a payload was refused. */
  issues?: readonly PayloadIssue[];
  /** Each option that was refused, as a sentence. */
  problems?: readonly string[];
  /** Each option that has another value in the database. */
  differences?: readonly OptionDifference[];
  /** Address of the database. */
  host?: string;
  port?: number;
  database?: string;
  /** The server's code, when the error comes from the server. */
  sqlstate?: string;
}

/** What a `PgqueError` is made of, beside code and message. */
export interface PgqueErrorOptions {
  /** What to do about it. Becomes the end of the message. */
  hint?: string | undefined;
  details?: PgqueErrorDetails;
  cause?: unknown;
}

const brand = Symbol.for("@pgque/client/PgqueError");

/**
 * Every error that is about Pgque: tell them apart by `code`. Errors of Postgres that are not (a serialization failure, a
 * deadlock, a statement timeout) come as the driver threw them, so that an application's own retry logic goes on working.
 */
export class PgqueError extends Error {
  /** Shared by all copies of this package in a process. */
  readonly [brand] = true;
  override readonly name = "PgqueError";
  readonly code: PgqueErrorCode;
  /** What to do about it. Also the end of the message. */
  readonly hint: string | undefined;
  readonly details: Readonly<PgqueErrorDetails>;

  constructor(code: PgqueErrorCode, message: string, options: PgqueErrorOptions = {}) {
    super(
      options.hint ? `${message}. ${options.hint}` : message,
      options.cause === undefined ? {} : { cause: options.cause },
    );
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}

/**
 * Whether an error is a `PgqueError`, optionally of one code. Unlike `instanceof`, it recognizes the errors of another copy of this package,
 * which a process has when two of its dependencies bring one each.
 *
 * @example
 * try {
 *   await pgque.send(orders, { orderId: 42 });
 * } catch (error) {
 *   if (!isPgqueError(error, "PAYLOAD_INVALID")) throw error;
 *   console.error(error.details.issues);
 * }
 */
export function isPgqueError(error: unknown, code?: PgqueErrorCode): error is PgqueError {
  try {
    const branded = typeof error === "object" && error !== null && brand in error;
    return branded && (code === undefined || (error as PgqueError).code === code);
  } catch {
    // a revoked Proxy can be thrown, too
    return false;
  }
}
