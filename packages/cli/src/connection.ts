import { Client, type ClientConfig } from "pg";
import { isConnectionString, redact } from "@pgque/client/redact";
import { flag } from "./options.ts";
import { explain, UsageError } from "./output/failure.ts";

/** How to reach the database and the schema in it, as the command line has it. */
export interface DatabaseFlags {
  databaseUrl?: string;
  schema: string;
  /** Read before the command runs. */
  config?: string;
}

const environment = ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE"];

/** The variables that name a database. */
export const databaseVariables = ["DATABASE_URL", ...environment];

export const databaseUrlOption = flag(
  "--database-url <url>",
  "the database (default: DATABASE_URL, else the PG* variables)",
);

export const schemaOption = flag("--schema <name>", "schema that Pgque is or will be installed in", {
  read: schemaName,
  default: "pgque",
  env: true,
});

/** Where options are that are not given, for commands that work with a schema. */
export const configOption = flag(
  "--config <file>",
  "options that are not given (default: pgque.config.ts, if it is there)",
  { env: true },
);

/**
 * What `pg` needs to connect: a connection string, or nothing when it is to use the PG* variables.
 *
 * @throws UsageError when no database is named, or not in a form that `pg` reads
 */
export function connectionConfig(flags: Pick<DatabaseFlags, "databaseUrl">): ClientConfig {
  const [source, url] =
    flags.databaseUrl === undefined
      ? ["DATABASE_URL", process.env["DATABASE_URL"]]
      : ["--database-url", flags.databaseUrl];
  // a database that does not answer is an answer too
  const common = { application_name: "pgque", connectionTimeoutMillis: 10_000 };
  if (url) return { ...common, connectionString: checkedUrl(source, url) };
  if (flags.databaseUrl === undefined && environment.some((name) => process.env[name])) return common;
  throw new UsageError(
    `expected a database, found none: --database-url, DATABASE_URL and ${environment.join(", ")} are not set. ` +
      "Name it: --database-url postgres://user:password@host:5432/database",
  );
}

/** Connects, does some work and disconnects. `needs`: what is said to do when a right is missing. */
export async function withClient<T>(
  flags: DatabaseFlags,
  work: (client: Client) => Promise<T>,
  needs?: string,
): Promise<T> {
  const client = await connect(connectionConfig(flags));
  try {
    return await work(client);
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== "42501" || needs === undefined) throw error;
    throw new Error(`${message}. ${needs}`, { cause: error });
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * A client that is connected. One whose connection breaks later fails the statement under way, which says so.
 *
 * @param over hangs up while it connects
 */
export async function connect(config: ClientConfig, over?: AbortSignal): Promise<Client> {
  const client = new Client(config);
  client.on("error", () => undefined);
  const disconnect = (): void => void client.connection.stream.destroy();
  over?.addEventListener("abort", disconnect);
  try {
    await client.connect();
    return client;
  } catch (cause) {
    disconnect();
    const { connectHint } = await import("@pgque/client");
    throw new Error(`could not connect to ${placeOf(client)}: ${explain(cause)}. ${connectHint(cause)}`, { cause });
  } finally {
    over?.removeEventListener("abort", disconnect);
  }
}

/** What to do about a right that is missing. */
export function needsRole(schema: string, role: string): string {
  return `This command needs a member of the role ${schema}_${role}: grant it, or connect as another`;
}

/** What to do about a schema that is not there. */
export const notInstalled = "Install it with `pgque install`, or name another with --schema";

/** Where a client connects to, in words: the database, or a schema of it. */
export function placeOf(client: Client, schema?: string): string {
  const of = schema === undefined ? "" : `schema ${JSON.stringify(schema)} of `;
  return `${of}database ${JSON.stringify(redact(client.database ?? client.user ?? ""))} at ${client.host}:${client.port}`;
}

function checkedUrl(source: string | undefined, url: string): string {
  // a bare name is more likely a flag's value that was forgotten than a database
  if (isConnectionString(url) && !/^[\w.-]+$/.test(url)) return url;
  // what does not parse may have its password anywhere
  const found = /^postgres(ql)?:\/\//.test(url)
    ? "one that does not parse (are special characters in user and password percent-encoded?)"
    : JSON.stringify(redact(url));
  throw new UsageError(
    `expected ${source} to be a connection string like postgres://user:password@host:5432/database, got: ${found}`,
  );
}

function schemaName(name: string): string {
  const bytes = Buffer.byteLength(name);
  if (bytes >= 1 && bytes <= 63 && !name.includes("\0") && !name.startsWith("pg_")) return name;
  throw new UsageError(
    `expected --schema to be a name of 1 to 63 bytes that does not start with "pg_", got: ${JSON.stringify(name)} (${bytes} bytes)`,
  );
}
