import { quoteIdentifier, type SqlClient } from "../client.ts";
import type { SchemaOptions } from "../install.ts";
import { packagedRelease, type Release } from "../release.ts";
import { begin, firstInstall } from "../script.ts";
import { fingerprintIn, versionIn } from "../steps.ts";
import { defaultSchema } from "../version.ts";
import { type CatalogEntry, readCatalog } from "./catalog.ts";
import { createModel, type Queue, queuesIn, readExpected } from "./queues.ts";

/** Something that is not as this version installs it. */
export interface Difference {
  /** `function send(text)`, `column queue.name`, `right function send(text) to pgque_writer`, … */
  name: string;
  /** `missing`: not there. `changed`: defined otherwise. `extra`: nothing of Pgque's; also a right that somebody was given by hand. */
  kind: "missing" | "changed" | "extra";
  /** The queue that it belongs to; null: to the schema. */
  queue: string | null;
  /** What this version installs; null for what is extra. */
  expected: string | null;
  /** What is there; null for what is missing. */
  found: string | null;
}

export interface ValidateOptions extends SchemaOptions {
  /** What is compared with. Default: the package's own. */
  release?: Release;
}

/** Written anew with every queue that comes or goes. */
const dispatchers: ReadonlySet<string> = new Set([
  "function send(queue_name text, type_name text, payload text, options jsonb)",
  "function send_batch(queue_name text, type_name text, payloads text[], headers jsonb[], options jsonb)",
  "function receive_messages(queue text, consumer text, worker text, max_messages integer, lease interval, max_bytes integer, reports_started boolean)",
  "function ack(batch_id bigint)",
]);

/**
 * Compares a schema with what this package installs: routines with their bodies, relations with their storage options, columns, constraints,
 * indexes, sequences, types, triggers, rules, owners and rights; and with what it makes for each queue: tables, segments, sequences, generated
 * functions, and what `grant_queue` has given.
 *
 * Nothing is changed: in a transaction that is rolled back the schema is renamed, installed anew and read. No lock is taken on a table of a
 * queue but by reading the catalog, which is ACCESS SHARE for a moment. Nobody sees or waits for any of it but
 * who creates or drops a queue, grants, or maintains. It leaves some hundred dead rows in the system catalogs. The connection must not be in a
 * transaction, and be the owner's of the schema, with CREATE on the database, or a superuser's.
 *
 * @returns what differs, by name; empty when nothing does
 * @throws Error when the schema is not there or of another version
 */
export async function validate(client: SqlClient, options: ValidateOptions = {}): Promise<Difference[]> {
  const { schema = defaultSchema, release = packagedRelease } = options;
  const quoted = await quoteIdentifier(client, schema);
  const version = await versionIn(client, quoted);
  if (version !== release.version) {
    const found = version === null ? "nothing installed there" : `version ${version}`;
    throw new Error(
      `expected schema ${quoted} to be of version ${release.version}, which is what this package can compare with, found: ${found}`,
    );
  }
  await client.query(begin);
  try {
    // what is written is the same wherever the session's path leads
    await client.query("set local search_path = ''");
    return await compare(client, schema, quoted, release);
  } finally {
    await client.query("rollback");
  }
}

async function compare(client: SqlClient, schema: string, quoted: string, release: Release): Promise<Difference[]> {
  const build = await fingerprintIn(client, quoted);
  // no queue comes or goes, no ring grows
  await client.query(`select ${quoted}.lock_queue_functions(null)`);
  const { rows: ofQueues } = await client.query(`select id, name, allow_cancel from ${quoted}.queue`);
  const { rows: granted } = await client.query(`select role_name from ${quoted}.granted_roles()`);
  const roles = new Set(granted.map(({ role_name }) => String(role_name)));
  const found = await readCatalog(client, schema);
  const queues = queuesIn(
    found,
    ofQueues.map(({ id, name, allow_cancel }) => ({
      id: Number(id),
      name: String(name),
      allowCancel: allow_cancel === true,
    })),
    roles,
  );
  const names = new Map(queues.map(({ id, name }) => [id, name]));
  const regenerated = await regenerate(client, schema, quoted, queues);
  const expected = await installAnew(client, schema, quoted, release, queues, roles);
  for (const entry of regenerated.values())
    if ((entry.queueId !== null && names.has(entry.queueId)) || dispatchers.has(entry.name))
      expected.set(entry.name, entry);
  const all = [...otherBuild(build, release), ...differences(expected, found, names)];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The functions after the schema has written those anew that it generates. Not those of a queue with a segment too many or too few in its
 * ring: they would be written for that ring.
 */
async function regenerate(
  client: SqlClient,
  schema: string,
  quoted: string,
  queues: readonly Queue[],
): Promise<Map<string, CatalogEntry>> {
  await client.query("savepoint as_found");
  await client.query(
    `select ${quoted}.generate_functions(id) from unnest($1::int[], $2::int[]) as q(id, segments)
      where ${quoted}.segment_count(id) = segments`,
    [queues.map(({ id }) => id), queues.map(({ segments }) => segments)],
  );
  await client.query(`select ${quoted}.generate_dispatchers()`);
  const catalog = await readCatalog(client, schema, "function");
  await client.query("rollback to savepoint as_found");
  return catalog;
}

/** The catalog of a new schema under the same name, so that all that names it is the same text. Without roles if it has none. */
async function installAnew(
  client: SqlClient,
  schema: string,
  quoted: string,
  release: Release,
  queues: readonly Queue[],
  roles: ReadonlySet<string>,
): Promise<Map<string, CatalogEntry>> {
  await client.query(`alter schema ${quoted} rename to pgque_to_validate`);
  await client.query(firstInstall(quoted, release));
  await client.query("set local search_path = ''");
  await createModel(client, quoted, queues);
  const catalog = new Map<string, CatalogEntry>();
  for await (const entry of readExpected(client, schema, queues, roles)) catalog.set(entry.name, entry);
  if (roles.size === 0)
    for (const name of catalog.keys())
      if (
        ["viewer", "reader", "writer", "admin"].some(
          (kind) => name.startsWith("right ") && name.endsWith(`${schema}_${kind}`),
        )
      )
        catalog.delete(name);
  return catalog;
}

/** Another build of the version may install the same objects, or others. */
function* otherBuild(found: string | null, { fingerprint: expected }: Release): Generator<Difference> {
  const kind = found === null ? "missing" : "changed";
  if (found !== expected) yield { name: "fingerprint", kind, queue: null, expected, found };
}

function* differences(
  expected: ReadonlyMap<string, CatalogEntry>,
  found: ReadonlyMap<string, CatalogEntry>,
  queueNames: ReadonlyMap<number, string>,
): Generator<Difference> {
  const queueOf = ({ queueId }: CatalogEntry): string | null =>
    queueId === null ? null : (queueNames.get(queueId) ?? null);
  for (const entry of expected.values()) {
    const { name, definition } = entry;
    const there = found.get(name)?.definition;
    if (there === definition) continue;
    const kind = there === undefined ? "missing" : "changed";
    yield { name, kind, queue: queueOf(entry), expected: definition, found: there ?? null };
  }
  for (const entry of found.values())
    if (!expected.has(entry.name))
      yield { name: entry.name, kind: "extra", queue: queueOf(entry), expected: null, found: entry.definition };
}
