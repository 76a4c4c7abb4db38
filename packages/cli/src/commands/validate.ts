import type { Difference } from "@pgque/sql";
import { command, type Flags } from "../command.ts";
import { placeOf, withClient } from "../connection.ts";
import { flag } from "../options.ts";
import { printResult } from "../output/print.ts";
import { counted } from "../output/text.ts";

interface ValidateFlags extends Flags {
  showSql?: true;
}

/** By SQLSTATE. */
const needsOf: Record<string, string> = {
  "42501": "the schema's owner, with CREATE on the database, or a superuser",
  // a standby refuses to begin a transaction that writes
  "0A000": "a database that accepts writes; on a standby ask its primary, which has the same schema",
};

export const validateCommand = command("validate", {
  description: "Compare the schema with the one that this version installs.",
  help: `
Compares functions with their bodies, tables with their storage options, columns, constraints, indexes, sequences, types, rules,
owners and privileges; and for each queue its tables, segments, sequences, generated functions and grants.

Changes nothing: one transaction renames the schema, installs it anew, reads both and rolls back. Senders and receivers are not
blocked. Creating a queue and maintenance wait until it is over. It leaves some hundred dead rows in the system catalogs. It needs
the schema's owner with CREATE on the database, or a superuser.

Exit codes: 0 no difference; 1 a difference, or the comparison failed.

Examples:
  pgque validate
  pgque validate --show-sql               with both definitions
  pgque validate --json | jq '.[].name'`,
  options: [flag("--show-sql", "print the expected and the found definition of each difference")],
  run: (flags: ValidateFlags) =>
    withClient(flags, async (client) => {
      const sql = await import("@pgque/sql");
      const place = placeOf(client, flags.schema);
      const differences = await sql.validate(client, { schema: flags.schema }).catch((cause: unknown) => {
        const needs = needsOf[String((cause as { code?: unknown }).code)];
        throw needs === undefined ? cause : new Error(`could not validate ${place}: it needs ${needs}`, { cause });
      });
      if (differences.length > 0) process.exitCode = 1;
      await printResult(flags, differences, sentence(differences, place, flags, sql.schemaVersion));
    }),
});

function sentence(
  differences: readonly Difference[],
  place: string,
  { showSql }: ValidateFlags,
  version: string,
): string {
  if (differences.length === 0) return `The ${place} is what Pgque ${version} installs.`;
  const lines = differences.flatMap(({ kind, name, queue, expected, found }) => [
    `${kind.padEnd(8)} ${name}${queue === null ? "" : ` (queue ${JSON.stringify(queue)})`}`,
    ...(showSql && expected !== null ? [indented("expected", expected)] : []),
    ...(showSql && found !== null ? [indented("found", found)] : []),
  ]);
  const count = counted(differences.length, "thing");
  return [`${count} in the ${place} not as Pgque ${version} installs it:`, ...lines].join("\n");
}

function indented(head: string, text: string): string {
  return `  ${head}:\n${text.trimEnd().replaceAll(/^/gm, "    ")}`;
}
