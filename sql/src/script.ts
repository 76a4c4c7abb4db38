import { type Migration, migrations } from "./migrations.ts";
import { defaultSchema, schemaVersion } from "./version.ts";

/** What a migration does inside an open transaction. `quoted`: the schema's name, quoted as an identifier. */
export function statements(quoted: string, { version, sql }: Migration, isFirst: boolean): string {
  return `${isFirst ? `create schema if not exists ${quoted};\n` : ""}set local search_path = ${quoted}, pg_temp;

${sql}
${isFirst ? `insert into meta (version) values ('${version}');` : `update meta set version = '${version}';`}
`;
}

/**
 * Everything that `install` does in a database without the schema, as one script in one transaction, for a DBA or a migration
 * tool.
 *
 * @param schema name of the schema, default `pgque`
 */
export function script(schema: string = defaultSchema): string {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const all = migrations.map((migration, i) => statements(quoted, migration, i === 0)).join("\n");
  return `-- Pgque ${schemaVersion}\nbegin;\n${all}commit;\n`;
}
