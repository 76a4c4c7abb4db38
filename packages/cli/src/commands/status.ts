import type { Client } from "pg";
import { command, type Flags } from "../command.ts";
import { needsRole, placeOf, withClient } from "../connection.ts";
import { describeLock, type HeldLock, readHeldLocks } from "../output/held-lock.ts";
import { showAge } from "../output/duration.ts";
import { printLine, printResult } from "../output/print.ts";
import { showEstimate } from "../output/text.ts";

/** What is installed. */
interface Status {
  schema: string;
  /** Of the schema; null: it is not there. */
  version: string | null;
  /** That this command line installs. */
  needs: string;
  serves: boolean;
  roles: string[];
  queues: { queue: string; consumerCount: number; depth: number | null; estimated: boolean; deadLetters: number }[];
  /** Locks of Pgque that somebody has held for ten seconds, which keeps a consumer from receiving or a queue from being maintained. */
  locks: HeldLock[];
}

export const statusCommand = command("status", {
  description: "Show the installed version, its roles and its queues.",
  help: `
Depth is that of the consumer of a queue that has most to receive.

Exit codes: 0 the schema is there and serves this version, 1 it does not or is not there.

Examples:
  pgque status
  pgque status --schema queues --json`,
  run: (flags: Flags) =>
    withClient(
      flags,
      async (client) => {
        const found = await read(client, flags.schema);
        if (!found.serves) process.exitCode = 1;
        if (flags.json) return printResult(flags, found, "");
        await print(found, placeOf(client, flags.schema), schemaFlag(flags));
      },
      needsRole(flags.schema, "viewer"),
    ),
});

async function read(client: Client, schema: string): Promise<Status> {
  const sql = await import("@pgque/sql");
  const version = await sql.installedVersion(client, { schema });
  const serves = version !== null && sql.serves(version, sql.schemaVersion);
  const none = { schema, version, needs: sql.schemaVersion, serves, roles: [], queues: [], locks: [] };
  // of another version it is not known what it has
  if (!serves) return none;
  const quoted = await sql.quoteIdentifier(client, schema);
  const { rows: roles } = await client.query<{ role_name: string }>(
    `select r.rolname::text as role_name
       from unnest('{viewer,reader,writer,admin}'::text[]) as k(kind)
       join pg_roles r on r.rolname::text = $1 || '_' || k.kind
      where has_schema_privilege(r.oid, $2, 'usage')`,
    [schema, quoted],
  );
  const { rows: queues } = await client.query<Status["queues"][number]>(
    `select q.queue_name as queue,
            q.consumers as "consumerCount",
            max(c.depth)::float8 as depth,
            coalesce(bool_or(c.estimated), false) as estimated,
            q.dead_letters::float8 as "deadLetters"
       from ${quoted}.queue_status() q
       left join ${quoted}.consumer_status() c on c.queue_name = q.queue_name
      group by q.queue_name, q.consumers, q.dead_letters
      order by 1`,
  );
  const locks = await readHeldLocks(client, quoted, 10_000);
  return { ...none, roles: roles.map(({ role_name }) => role_name), queues, locks };
}

/** What the next command needs to mean the same schema. */
const schemaFlag = ({ schema }: Flags): string => (schema === "pgque" ? "" : ` --schema ${JSON.stringify(schema)}`);

async function print(found: Status, place: string, flag: string): Promise<void> {
  const { version, needs, serves, roles, queues, locks } = found;
  if (version === null) return printLine(`Pgque is not installed in ${place}. pgque install${flag} puts it there.`);
  const verdict = serves ? "serves" : "does not serve";
  await printLine(`Pgque ${version} in ${place} ${verdict} this command line, which is for ${needs}.`);
  if (!serves)
    return printLine(`pgque upgrade${flag} brings an older one to this version; for a newer one use its package.`);
  await printLine(`Roles: ${roles.join(", ") || "none"}.`);
  for (const lock of locks)
    await printLine(`Warning: ${describeLock(lock)} for ${showAge(lock.heldMs)}. pgque doctor${flag} says what to do.`);
  if (queues.length === 0) return printLine("No queue.");
  const { table } = await import("../output/table.ts");
  await printLine(
    table(
      [
        { head: "queue", cell: (row) => row.queue },
        { head: "consumers", cell: (row) => row.consumerCount, align: "right" },
        {
          head: "depth",
          cell: (row) => (row.depth === null ? null : showEstimate(row.depth, row.estimated)),
          align: "right",
        },
        { head: "dead letters", cell: (row) => row.deadLetters, align: "right" },
      ],
      queues,
    ),
  );
}
