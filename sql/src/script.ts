import { type Migration, migrations } from "./migrations.ts";
import { defaultSchema, schemaVersion } from "./version.ts";

/** What a migration does inside an open transaction. `quoted`: the schema's name, quoted as an identifier. */
export function statements(quoted: string, { version, sql }: Migration, isFirst: boolean): string {
  return `${isFirst ? `create schema if not exists ${quoted};\n${refusalOfOthers(quoted)}` : ""}set local search_path = ${quoted}, pg_temp;

${sql}
${isFirst ? `insert into meta (version) values ('${version}');` : `update meta set version = '${version}';`}
`;
}

/** A schema that others use is left alone: what is in Pgque's is nobody's to call or to read unless it is granted, and goes with it. */
function refusalOfOthers(quoted: string): string {
  const schema = literal(quoted);
  const body = `
begin
  if exists (select from pg_class where relnamespace = ${schema}::regnamespace)
     or exists (select from pg_proc where pronamespace = ${schema}::regnamespace) then
    raise exception using
      errcode = 'PQ004',
      message = 'expected schema ' || ${schema} || ' to be empty or not to be there, found tables or functions in it',
      hint = 'Install into a schema of its own, such as pgque.';
  end if;
end
`;
  // as a text with quotes: a dollar-quoted one could end in the name
  return `do ${literal(body)};\n`;
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

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
