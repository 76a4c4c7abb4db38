import { type Address, showAddress } from "../connection/address.ts";
import { origins, type Origin } from "./origin.ts";
import { isPgqueError, PgqueError, type PgqueErrorCode, type PgqueErrorDetails } from "./errors.ts";

/** What a failed statement was about. */
export interface Failed {
  address: Address;
  schema: string;
  queue?: string;
  consumer?: string;
}

/** A failure, taken apart. */
interface Failure extends Origin {
  /** The error as it was thrown. */
  cause: Error;
  where: string;
  schema: string;
  details: PgqueErrorDetails;
}

/** The error for an application: ours when it is about Pgque or the connection, otherwise the driver's own. */
export function databaseError(cause: unknown, about: Failed): unknown {
  if (!(cause instanceof Error) || isPgqueError(cause)) return cause;
  const { address, schema, ...names } = about;
  for (const origin of origins(cause)) {
    const { sqlstate } = origin;
    const details = { ...address, schema, ...names, ...(sqlstate !== "" && { sqlstate }) };
    const explained = explain({ ...origin, cause, where: showAddress(address), schema, details });
    if (explained) return explained;
  }
  return cause;
}

function explain(failure: Failure): PgqueError | undefined {
  return (
    raised(failure) ??
    missing(failure) ??
    denied(failure) ??
    unreachable(failure) ??
    readOnly(failure) ??
    lost(failure) ??
    unusable(failure)
  );
}

/** The error of a database without the schema. */
export function notInstalled(
  where: string,
  schema: string,
  details: PgqueErrorDetails,
  found: string = "no such schema",
  cause?: Error,
): PgqueError {
  return new PgqueError(
    "SCHEMA_NOT_INSTALLED",
    `expected schema ${JSON.stringify(schema)} of Pgque in the database at ${where}, found: ${found}`,
    {
      hint: `Install it with \`${installCommand(schema)}\`, or name another with \`new Pgque(target, { schema })\``,
      details,
      cause,
    },
  );
}

/** The command that installs a schema, with its name quoted for a shell. */
export function installCommand(schema: string): string {
  return `npx pgque install${schema === "pgque" ? "" : ` --schema '${schema.replaceAll("'", "'\\''")}'`}`;
}

/** What the SQL functions raise. */
const raisedCodes: Record<string, PgqueErrorCode> = {
  PQ001: "QUEUE_NOT_FOUND",
  PQ002: "CONSUMER_NOT_FOUND",
  PQ003: "NOT_IN_BATCH",
  PQ004: "INVALID_ARGUMENT",
  PQ005: "ISOLATION_LEVEL",
  PQ006: "LEASE_LOST",
  PQ007: "REPAIR_NEEDED",
};

/** Hints for those who call TypeScript, where the server's speak of SQL functions. */
const hints: Partial<Record<PgqueErrorCode, string>> = {
  QUEUE_NOT_FOUND: "Create it with `await pgque.ensure(queue)`",
  CONSUMER_NOT_FOUND: "Register it with `await pgque.subscribe(queue, consumer)`",
};

/** Raised by our functions, or by the server because it cannot store what they were given. */
function raised({ cause, sqlstate, message, hint: serverHint, details }: Failure): PgqueError | undefined {
  const code = raisedCodes[sqlstate] ?? (sqlstate.startsWith("22") ? "INVALID_ARGUMENT" : undefined);
  if (code === undefined) return undefined;
  return new PgqueError(code, message, { hint: hints[code] ?? serverHint, details, cause });
}

/** The schema was checked at first use: it was dropped or replaced since. */
function missing({ cause, sqlstate, message, where, schema, details }: Failure): PgqueError | undefined {
  const isMissing = sqlstate === "42883" || sqlstate === "42P01" || sqlstate === "3F000";
  return isMissing ? notInstalled(where, schema, details, message, cause) : undefined;
}

function denied({
  cause,
  sqlstate,
  message,
  hint: serverHint,
  where,
  schema,
  details,
}: Failure): PgqueError | undefined {
  const login = sqlstate.startsWith("28");
  if (!login && sqlstate !== "42501") return undefined;
  const hint = login
    ? "Check user and password"
    : (serverHint ??
      `Make the role a member of ${schema}_reader, ${schema}_writer or ${schema}_admin, or grant it the queue with grant_queue(queue, role, privilege)`);
  return new PgqueError("ACCESS_DENIED", `the database at ${where} refused: ${message}`, {
    hint,
    details,
    cause,
  });
}

/** Starting or stopping, too many connections, no such database. */
const noConnectionStates = new Set(["57P03", "53300", "3D000"]);
const noConnectionCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENOENT"]);

function unreachable({
  cause,
  sqlstate,
  systemCode,
  syscall,
  message,
  where,
  details,
}: Failure): PgqueError | undefined {
  const connecting =
    syscall === "connect" ||
    syscall === "getaddrinfo" ||
    /^timeout e(xpired|xceeded)|due to connection timeout$/.test(message);
  if (!connecting && !noConnectionStates.has(sqlstate) && !noConnectionCodes.has(systemCode)) return undefined;
  return new PgqueError("DATABASE_UNREACHABLE", `could not connect to the database at ${where}: ${message}`, {
    hint: "Check that it runs, has a connection to spare, and is the one that the connection string should name",
    details,
    cause,
  });
}

function readOnly({ cause, sqlstate, message, where, details }: Failure): PgqueError | undefined {
  if (sqlstate !== "25006") return undefined;
  return new PgqueError("READ_ONLY", `expected the database at ${where} to accept writes, got: ${message}`, {
    hint: "Connect to the primary, by an address that follows it",
    details,
    cause,
  });
}

/** Of Node, and of postgres.js. That a host cannot be reached is also what a connection ends with whose server vanished after a statement was sent. */
const brokenCodes = new Set([
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
]);

function lost({ cause, sqlstate, systemCode, message, where, details }: Failure): PgqueError | undefined {
  const broken = brokenCodes.has(systemCode);
  const ended = sqlstate.startsWith("57P") || sqlstate.startsWith("08");
  if (!broken && !ended && !/^Connection terminated|is not queryable$/.test(message)) return undefined;
  return new PgqueError("CONNECTION_LOST", `lost the connection to the database at ${where}: ${message}`, {
    hint: "Whether the statement took effect is not known",
    details,
    cause,
  });
}

function unusable({ cause, systemCode, message, details }: Failure): PgqueError | undefined {
  if (message.startsWith("Cannot use a pool after calling end")) {
    return new PgqueError("CLOSED", "expected an open pool, this one was closed", {
      hint: "Make a new Pgque",
      details,
      cause,
    });
  }
  if (systemCode !== "ERR_INVALID_URL") return undefined;
  // without its cause, which holds the whole string, password and all
  return new PgqueError(
    "INVALID_OPTION",
    "expected a connection string like postgres://user:password@host:5432/database, got one that does not parse",
    { hint: "Percent-encode special characters in user and password" },
  );
}
