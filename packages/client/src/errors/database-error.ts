import { connectHint } from "./connect-hint.ts";
import { type Address, showAddress } from "../connection/address.ts";
import { unwrapped, type UnwrappedError } from "./unwrap-error.ts";
import { codeOfConnect, codeOfStatement } from "./sqlstates.ts";
import { isPgqueError, PgqueError, type PgqueErrorCode, type PgqueErrorDetails } from "./errors.ts";

/** What a failed statement was about. */
export interface Failed {
  address: Address;
  schema: string;
  /** No connection could be made, so nothing was sent. */
  connecting?: boolean;
  queue?: string;
  consumer?: string;
}

/** A failure, taken apart. */
interface Failure extends UnwrappedError {
  /** The error as it was thrown. */
  cause: Error;
  where: string;
  schema: string;
  connecting: boolean;
  details: PgqueErrorDetails;
}

/** The error for an application: ours when it is about Pgque or the connection, otherwise the driver's own. */
export function databaseError(cause: unknown, about: Failed): unknown {
  if (!(cause instanceof Error) || isPgqueError(cause)) return cause;
  const { address, schema, connecting = false, ...names } = about;
  for (const origin of unwrapped(cause)) {
    const { sqlstate } = origin;
    const details = { ...address, schema, ...names, ...(sqlstate !== "" && { sqlstate }) };
    const failure = { ...origin, cause, where: showAddress(address), schema, connecting, details };
    const code = unusable(failure) ?? dropped(failure) ?? codeOf(failure);
    if (code instanceof PgqueError) return code;
    if (code !== undefined) return errorOf(failure, code);
  }
  return cause;
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

/** Codes of Node and of drivers that say that there was no connection. */
const noConnectionCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENOENT"]);

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

/** What the failure is; undefined: neither about Pgque nor about the connection. */
function codeOf({ connecting, sqlstate, severity, systemCode, syscall, message }: Failure): PgqueErrorCode | undefined {
  if (connecting) return message.startsWith("SASL") ? "ACCESS_DENIED" : codeOfConnect(sqlstate);
  if (sqlstate !== "") return codeOfStatement(sqlstate, severity);
  const isConnect = syscall === "connect" || syscall === "getaddrinfo" || noConnectionCodes.has(systemCode);
  if (isConnect || /^timeout e(xpired|xceeded)|due to connection timeout$/.test(message)) return "DATABASE_UNREACHABLE";
  const isBroken = brokenCodes.has(systemCode);
  if (isBroken || /^Connection terminated|is not queryable$|^Query read timeout$/.test(message))
    return "CONNECTION_LOST";
  return undefined;
}

/** Hints for those who call TypeScript, where the server's speak of SQL queries. */
const hints: Partial<Record<PgqueErrorCode, string>> = {
  QUEUE_NOT_FOUND: "Create it with `await pgque.ensure(queue)`",
  CONSUMER_NOT_FOUND: "Register it with `await pgque.subscribe(queue, consumer)`",
};

/** In the words of the server, who speaks for our functions too, unless the code has words of its own. */
function errorOf(failure: Failure, code: PgqueErrorCode): PgqueError {
  const { cause, message, where, schema, details } = failure;
  if (code === "SCHEMA_NOT_INSTALLED") return notInstalled(where, schema, details, message, cause);
  const [said, hint] = explained[code]?.(failure) ?? [message, hints[code] ?? failure.hint];
  return new PgqueError(code, said, { hint, details, cause });
}

/** The message and the hint of codes with words of their own. */
const explained: Partial<Record<PgqueErrorCode, (failure: Failure) => [message: string, hint: string]>> = {
  ACCESS_DENIED: ({ connecting, sqlstate, message, hint, where, schema, cause }) => {
    const roles = `${schema}_viewer to look, ${schema}_writer to send, ${schema}_reader to receive, or ${schema}_admin to administer`;
    const privileges = `Make the role a member of ${roles}; or grant it the queue with grant_queue(queue, role, privilege)`;
    const isLogin = connecting || sqlstate !== "42501";
    return [`the database at ${where} refused: ${message}`, isLogin ? connectHint(cause) : (hint ?? privileges)];
  },
  DATABASE_UNREACHABLE: ({ message, where, cause }) => [
    `could not connect to the database at ${where}: ${message}`,
    connectHint(cause),
  ],
  READ_ONLY: ({ message, where }) => [
    `expected the database at ${where} to accept writes, got: ${message}`,
    "Connect to the primary, by an address that follows it",
  ],
  CONNECTION_LOST: ({ message, where }) => [
    `lost the connection to the database at ${where}: ${message}`,
    "Whether the statement took effect is not known",
  ],
};

/**
 * A call that waits while its queue is dropped goes on when its tables are gone, and fails in the server's words: to catch that in SQL would cost
 * every send a subtransaction. These words are not translated, and neither are the names of the queue's tables.
 */
function dropped({ cause, sqlstate, message, details }: Failure): PgqueError | undefined {
  const isGone =
    sqlstate === "XX000" ? /^(could not open relation with OID|cache lookup failed for)/ : /\b[a-z_]+_\d+\b/;
  if (details.queue === undefined || !["XX000", "42P01"].includes(sqlstate) || !isGone.test(message)) return undefined;
  return new PgqueError(
    "QUEUE_NOT_FOUND",
    `queue not found: ${details.queue}, it was dropped while the call waited (${message})`,
    { hint: hints["QUEUE_NOT_FOUND"], details, cause },
  );
}

/** What no other attempt would change. */
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
