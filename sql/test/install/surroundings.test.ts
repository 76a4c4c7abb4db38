import { install, uninstall, validate } from "@pgque/sql";
import { Client } from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { nextRelease, nextVersion } from "../../../test/support/next-release.ts";

/** What a database may be set to, or have in it, that an installer did not ask for. */
const surroundings: Record<string, string> = {
  "SERIALIZABLE by default": "alter database %I set default_transaction_isolation = serializable",
  "transactions that are read only by default": "alter database %I set default_transaction_read_only = on",
  "strings with backslashes": "alter database %I set standard_conforming_strings = off",
  "a short statement_timeout": "alter database %I set statement_timeout = '20ms'",
  "identifiers quoted always": "alter database %I set quote_all_identifiers = on",
  "functions of others in the path": `
    create schema others;
    create function others.format(text, text) returns text language sql as $$ select 'nonsense' $$;
    create function others.quote_ident(text) returns text language sql as $$ select 'nonsense' $$;
    alter database %I set search_path = others, pg_catalog`,
  "event triggers": `
    create table public.ddl (command text, identity text);
    create function public.note_ddl() returns event_trigger language plpgsql as $$
    begin
      insert into public.ddl select c.command_tag, c.object_identity from pg_event_trigger_ddl_commands() c;
    end $$;
    create function public.note_drop() returns event_trigger language plpgsql as $$
    begin
      insert into public.ddl select 'drop', d.object_identity from pg_event_trigger_dropped_objects() d;
    end $$;
    create event trigger note_ddl on ddl_command_end execute function public.note_ddl();
    create event trigger note_drop on sql_drop execute function public.note_drop()`,
};

/** With the settings of the database, which are not those of the other tests' connections. */
async function ownConnection(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client(url);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

const hostile = 'It\'s \\ "a" $$ %I %s {schema} ${queue}\n $do$ ; --';

for (const [what, statements] of Object.entries(surroundings)) {
  test(`a schema of any name is installed, upgraded, validated and dropped beside ${what}`, async () => {
    await using database = await freshDatabase();
    const admin = await database.connect();
    const { rows } = await admin.query("select format('%I', current_database()) as name");
    await admin.query(statements.replace("%I", rows[0].name));
    // its own settings, not those that a test's connections have
    await using client = await ownConnection(database.url);
    const schema = hostile;
    const quoted = `"${hostile.replaceAll('"', '""')}"`;
    await install(client, { schema });
    await client.query(
      `begin read write; set local statement_timeout = 0; select ${quoted}.create_queue('q'), ${quoted}.send('q', 'x'); commit`,
    );
    expect(await install(client, { schema, release: nextRelease })).toEqual({ installed: true, version: nextVersion });
    expect(await validate(client, { schema, release: nextRelease })).toEqual([]);
    await uninstall(client, { schema });
    expect((await admin.query("select from pg_namespace where nspname = $1", [schema])).rowCount).toBe(0);
  });
}
