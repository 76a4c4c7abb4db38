import { initialSchema } from "./initial-schema.gen.ts";
import { defaultSchema, schemaVersion } from "./version.ts";

/** What creates the schema inside an open transaction. `quoted`: the schema's name, quoted as an identifier. */
export function statements(quoted: string): string {
  return `create schema if not exists ${quoted};
set local search_path = ${quoted}, pg_temp;

${initialSchema}
insert into meta (version) values ('${schemaVersion}');
`;
}

/**
 * Everything that `install` does, as one script in one transaction, for a DBA or a migration tool.
 *
 * @param schema name of the schema, default `pgque`
 */
export function script(schema: string = defaultSchema): string {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  return `-- Pgque ${schemaVersion}\nbegin;\n${statements(quoted)}commit;\n`;
}
