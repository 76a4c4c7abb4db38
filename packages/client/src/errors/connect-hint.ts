import { field } from "../options/field.ts";

/** What to do, by the SQLSTATE of the server or the code of Node. */
const hints: Readonly<Record<string, string>> = {
  "28P01": "Check user and password",
  "28000":
    "Check that the role may log in, and that pg_hba.conf of the server lets it in from here: with TLS, if it wants that",
  "3D000": "Create the database, or name another in the connection string",
  "42501": "Check that the role has CONNECT on the database",
  "53300": "Close other connections, use a pooler, or raise max_connections of the server",
  "57P03": "The server starts, stops or recovers: try again in a moment",
  ECONNREFUSED: "Check that a server runs there, and listens on that address and port",
  ENOENT: "Check that a server runs, and has its socket in that folder",
  ENOTFOUND: "Check the name of the host in the connection string",
  EAI_AGAIN: "Check the name of the host in the connection string, and the name server",
  ETIMEDOUT: "Check the address, and that no firewall is between",
  EHOSTUNREACH: "Check the address, and that no firewall is between",
  ENETUNREACH: "Check the address, and that no firewall is between",
};

/** The same by what `pg` says without a code. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/^SASL/, "Check user and password"],
  [/does not support SSL/, "Enable TLS on the server, or take sslmode out of the connection string"],
  [
    /certificate|self-signed/,
    "Give the CA of the server with sslrootcert, or use the host name that its certificate has",
  ],
];

/**
 * What to do about a connection that could not be made.
 *
 * @param error what `pg` or Node said, or an error with that as its cause
 */
export function connectHint(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause) {
    const { message } = each;
    const found = hints[String(field(each, "code"))] ?? sentences.find(([pattern]) => pattern.test(message))?.[1];
    if (found !== undefined) return found;
  }
  return "Check that a server runs there, has a connection to spare, and is the one that the connection string should name";
}
