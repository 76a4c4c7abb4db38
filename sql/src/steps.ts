import { only, type SqlClient } from "./client.ts";
import type { Release } from "./release.ts";
import { firstInstall, preparation, queueMigration, replacement } from "./script.ts";
import { isOlder, serves } from "./version.ts";

/** A transaction of an install. */
export interface Step {
  what: string;
  sql: string;
  /** Whether it is still to be done; asked within the transaction, since others may install too. Left out: it finds that out itself. */
  isDue?: (client: SqlClient) => Promise<boolean>;
  /** Afterwards the schema is of the version wanted. */
  isLast?: true;
}

/**
 * What leads from what is there to a release; nothing when that is there, or a later one that serves.
 *
 * @throws Error when no migrations lead there, or another build of that version is there
 */
export async function stepsTo(client: SqlClient, quoted: string, release: Release): Promise<Step[]> {
  const found = await versionIn(client, quoted);
  if (found === null) {
    const isDue = async (): Promise<boolean> => (await versionIn(client, quoted)) === null;
    return [{ what: `schema ${release.version}`, sql: firstInstall(quoted, release), isDue, isLast: true }];
  }
  if (found !== release.version && serves(found, release.version)) return [];
  const build = await fingerprintIn(client, quoted);
  if (found === release.version && build === release.fingerprint) return [];
  const { version, firstVersion } = release;
  if (found === version || build === null) throw otherBuild(quoted, release, found, build);
  if (isOlder(version, found) || isOlder(found, firstVersion ?? version)) {
    throw new Error(
      `expected schema ${quoted} to be of version ${version}, one that leads to it, or not there yet, found version ${found}: ` +
        `use the pgque package of version ${found}, or uninstall the schema first`,
    );
  }
  return upgradeSteps(client, quoted, release);
}

async function upgradeSteps(client: SqlClient, quoted: string, release: Release): Promise<Step[]> {
  const { rows } = await client.query(`select migration, prepared from ${quoted}.meta`);
  const { migration, prepared } = rows[0] as { migration: number; prepared: number };
  const pending = release.migrations.filter(({ number }) => number > migration);
  const { rows: queues } = await client.query(`select id, migration from ${quoted}.queue order by id`);
  const steps: Step[] = [];
  for (const one of pending.filter(({ queueSql }) => queueSql.trim() !== ""))
    for (const { id, migration: has } of queues as { id: number; migration: number }[])
      if (has < one.number) steps.push({ what: `${one.name}, queue ${id}`, sql: queueMigration(quoted, one, id) });
  for (const one of pending) {
    if (one.number <= prepared || one.sql.trim() === "") continue;
    const isDue = async (): Promise<boolean> =>
      Number(only((await client.query(`select prepared from ${quoted}.meta`)).rows)) < one.number;
    steps.push({ what: one.name, sql: preparation(quoted, one), isDue });
  }
  const isDue = async (): Promise<boolean> => (await fingerprintIn(client, quoted)) !== release.fingerprint;
  const sql = replacement(quoted, release, pending);
  return [...steps, { what: `functions ${release.version}`, sql, isDue, isLast: true }];
}

/** The version in a schema, or null when there is none. */
export async function versionIn(client: SqlClient, quoted: string): Promise<string | null> {
  const { rows } = await client.query("select to_regclass($1) is not null and to_regtype($2) is not null as present", [
    `${quoted}.meta`,
    `${quoted}.received_message`,
  ]);
  // by its function: who may only send or receive cannot read tables
  return only(rows) === true ? called(client, `${quoted}.version`) : null;
}

/** Which build of its version a schema is; null: one of before builds were told apart. */
export async function fingerprintIn(client: SqlClient, quoted: string): Promise<string | null> {
  const { rows } = await client.query("select to_regprocedure($1) is not null", [`${quoted}.fingerprint()`]);
  return only(rows) === true ? called(client, `${quoted}.fingerprint`) : null;
}

async function called(client: SqlClient, name: string): Promise<string | null> {
  const found = only((await client.query(`select ${name}() as found`)).rows);
  return typeof found === "string" ? found : null;
}

function otherBuild(quoted: string, release: Release, version: string, build: string | null): Error {
  return new Error(
    `expected schema ${quoted} to be the build ${release.fingerprint} of version ${release.version}, found build ${build ?? "without a fingerprint"} of version ${version}. ` +
      (release.firstVersion === null
        ? `Version ${release.version} is not released, and no upgrade leads from one build of it to another: use the package that installed the schema, ` +
          "or drop it and its messages with `pgque uninstall`, then install it anew"
        : `A released version has one build: use the pgque package from the registry, and \`pgque validate\` to see what differs`),
  );
}
