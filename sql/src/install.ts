import { quoteIdentifier, type SqlClient } from "./client.ts";
import { retryOnLock } from "./retry-on-lock.ts";
import { packagedRelease, type Release } from "./release.ts";
import { begin } from "./script.ts";
import { fingerprintIn, type Step, stepsTo, versionIn } from "./steps.ts";
import { defaultSchema } from "./version.ts";

export interface SchemaOptions {
  /** Name of the schema. Default: `pgque`. */
  schema?: string;
}

export interface InstallOptions extends SchemaOptions {
  /** What is wanted. Default: the package's own. */
  release?: Release;
  /** For how long a step is tried again whose locks others hold. Default: 60,000 ms. */
  giveUpAfterMs?: number;
}

export interface Installed {
  /** False when this version, or a later one that serves, was there already. */
  installed: boolean;
  version: string;
}

/** The version installed in a schema, or null when there is none. */
export async function installedVersion(client: SqlClient, options: SchemaOptions = {}): Promise<string | null> {
  return versionIn(client, await quoteIdentifier(client, options.schema ?? defaultSchema));
}

/**
 * Which build of its version is installed: a digest of its statements, `schemaFingerprint` if it is this package's. Null when there is none, or
 * one of before builds were told apart.
 */
export async function installedFingerprint(client: SqlClient, options: SchemaOptions = {}): Promise<string | null> {
  return fingerprintIn(client, await quoteIdentifier(client, options.schema ?? defaultSchema));
}

/**
 * Brings the schema to this package's version: installs it where it is not, upgrades it where it is older, does nothing where it is the same or
 * a later one that serves. An upgrade is a row of transactions: the tables of each queue, then what belongs to no queue, then all functions at
 * once. The version before works until the last of them has committed, and one that fails or is killed is gone on with by the next install. Queues
 * stay in use meanwhile: no lock is waited for longer than a moment at a time. Any number of installers may run at once.
 *
 * @throws Error when no migrations lead here from the installed version, or another build of this version is installed
 */
export async function install(client: SqlClient, options: InstallOptions = {}): Promise<Installed> {
  const { schema = defaultSchema, release = packagedRelease, giveUpAfterMs = 60_000 } = options;
  const quoted = await quoteIdentifier(client, schema);
  let installed = false;
  for (;;) {
    const steps = await stepsTo(client, quoted, release);
    for (const step of steps) {
      const isDone = await retryOnLock(giveUpAfterMs, () => run(client, schema, step));
      if (isDone && step.isLast) installed = true;
    }
    if (steps.length === 0) return { installed, version: (await versionIn(client, quoted)) ?? release.version };
  }
}

/** Runs a step in a transaction, one installer at a time. False: another one has done it. */
function run(client: SqlClient, schema: string, { sql, isDue }: Step): Promise<boolean> {
  return inTransaction(client, async () => {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`pgque install ${schema}`]);
    // the session hears what others have committed meanwhile when it locks a table; an advisory lock does not do that
    await client.query("select from pg_catalog.pg_class limit 0");
    if (isDue !== undefined && !(await isDue(client))) return false;
    await client.query(sql);
    return true;
  });
}

async function inTransaction<T>(client: SqlClient, work: () => Promise<T>): Promise<T> {
  await client.query(begin);
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}
