import { lockTimeoutMs } from "./retry-on-lock.ts";
import { lastMigration, type Migration, packagedRelease, type Release } from "./release.ts";
import { orReplaced, type Statement } from "./statements.ts";
import { defaultSchema } from "./version.ts";

/**
 * How each transaction of the installer begins, whatever the settings of role and database are. What was read is read again once a lock has been
 * waited for, so READ COMMITTED.
 */
export const begin = `begin isolation level read committed read write;
set local standard_conforming_strings = on;
set local statement_timeout = 0;
set local jit = off;
set local quote_all_identifiers = off;
`;

/** A first install, inside an open transaction. `quoted`: the schema's name, quoted as an identifier. */
export function firstInstall(quoted: string, release: Release): string {
  return `${refusalOfOthers(quoted)}create schema if not exists ${quoted};
${within(quoted)}
${joined(release.statements.map(({ sql }) => sql))}
insert into meta (version, fingerprint, migration, prepared)
values (${literal(release.version)}, ${literal(release.fingerprint)}, ${lastMigration(release)}, ${lastMigration(release)});
${listRoutines}`;
}

/**
 * Migrates the tables of one queue, or of all that are left: nothing where that has been done. Queues that the version before creates have the
 * number that `meta` has, so they are migrated by the transaction that replaces the functions.
 */
export function queueMigration(quoted: string, migration: Migration, queueId?: number): string {
  const { number, queueSql } = migration;
  const filter = queueId === undefined ? "" : ` and id = ${queueId}`;
  return `${patient(quoted)}${ofQueues(number, queueSql, filter)}${revokeCreated}`;
}

/** Runs the part of a migration that belongs to no queue. */
export function preparation(quoted: string, { number, sql }: Migration): string {
  return `${patient(quoted)}${sql}\n${revokeCreated}${revokeTypes}update meta set prepared = ${number};\n`;
}

/**
 * Replaces all functions by those of a release, in one transaction: each call runs functions of the one version or of the other. No lock is
 * taken on a table that senders use, since whatever changes tables has been done; but for queues that have been created since.
 */
export function replacement(quoted: string, release: Release, pending: readonly Migration[]): string {
  const { version, fingerprint, statements } = release;
  const run = (wanted: Statement["kind"]): string =>
    joined(statements.filter(({ kind }) => kind === wanted).map(({ sql }) => orReplaced(sql)));
  return `${patient(quoted)}${pending.map(({ number, queueSql }) => ofQueues(number, queueSql, "")).join("")}
${pending.map(({ functionsSql }) => functionsSql).join("\n")}
${run("routine")}
select generate_dispatchers();
${dropDisappeared}${revokeCreated}${revokeTypes}${listRoutines}
${run("setting")}
select generate_functions(id) from queue;
${run("right")}
update queue set migration = ${lastMigration(release)} where migration <> ${lastMigration(release)};
update meta
   set version = ${literal(version)}, fingerprint = ${literal(fingerprint)}, migration = ${lastMigration(release)}, prepared = ${lastMigration(release)};
`;
}

/** Everything by its bare name; no lock is waited for long; no queue comes or goes, and no ring grows. */
function patient(quoted: string): string {
  return `set local lock_timeout = '${lockTimeoutMs}ms';
${within(quoted)}select pg_advisory_xact_lock(lock_key('registry', 0));
-- numbers of transactions that are not older tell what this one has written
select pg_current_xact_id();
`;
}

const within = (quoted: string): string => `set local search_path = ${quoted}, pg_temp;\n`;

const joined = (sqls: readonly string[]): string => sqls.map((sql) => `${sql};\n`).join("\n");

const ofQueues = (number: number, sql: string, filter: string): string =>
  sql.trim() === ""
    ? ""
    : block(`
declare
  queue_id int;
begin
  for queue_id in select id from queue where migration < ${number}${filter} order by id loop
    execute replace(${literal(sql)}, '<queue>', queue_id::text);
    update queue set migration = ${number} where id = queue_id;
  end loop;
end`);

// What this transaction has written: its own number and those of its subtransactions are the youngest.
const isOurs = (row: string): string => `age(${row}.xmin) <= age(pg_current_xact_id()::xid)`;

const routinesAndViews = `
    select 'routine ' || p.oid::regprocedure as object, ${isOurs("p")} as is_new
      from pg_proc p
     where p.pronamespace = quote_ident(current_schema())::regnamespace
       and not exists (select from queue q where p.proname like '%\\_' || q.id)
    union all
    select 'view ' || c.oid::regclass, ${isOurs("r")}
      from pg_class c
      join pg_rewrite r on r.ev_class = c.oid and r.rulename = '_RETURN'
     where c.relkind = 'v' and c.relnamespace = quote_ident(current_schema())::regnamespace`;

/** Drops what the version before had and this one has not. Others' functions in the schema stay. */
const dropDisappeared = block(`
declare
  gone text;
begin
  for gone in
    select o.object
      from (${routinesAndViews}) as o
      join meta m on o.object = any (m.routines)
     where not o.is_new
     -- a view may use a function
     order by o.object desc
  loop
    execute 'drop ' || gone;
  end loop;
end`);

/**
 * Takes from others what default privileges have given them on what a transaction has created: PUBLIC may call a new function unless somebody says
 * otherwise, and what a migration creates is there some time before the functions are replaced. What was there before keeps what was granted by
 * hand: routines and views are known by name; those of a queue, which PUBLIC may call only if they are new; and of a relation the columns of the
 * system are written once.
 */
const revokeCreated = `with mine as materialized (
  select p.oid, p.proname, p.proowner, p.proacl from pg_proc p where p.pronamespace = quote_ident(current_schema())::regnamespace and ${isOurs("p")}
),
routines as materialized (
  select m.oid, m.proname
    from mine m
   where not exists (select from meta where 'routine ' || m.oid::regprocedure = any (meta.routines))
     and (
       not exists (select from queue q where m.proname like '%\\_' || q.id)
       or exists (select from aclexplode(coalesce(m.proacl, acldefault('f', m.proowner))) g where g.grantee = 0)
     )
),
relations as (
  select c.relname
    from pg_locks l
    join pg_class c on c.oid = l.relation and c.relnamespace = quote_ident(current_schema())::regnamespace
   where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.mode = 'AccessExclusiveLock'
     and (
       exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum < 0 and ${isOurs("a")})
       or c.relkind = 'v' and not exists (select from meta where 'view ' || c.oid::regclass = any (meta.routines))
     )
)
select revoke_all(array(select proname from routines union select relname from relations), array(select oid::regprocedure from routines));
`;

/** The same for types: of one queue there is none. */
const revokeTypes = `select revoke_all(array_agg(t.typname), '{}')
  from pg_depend d
  join pg_type t on t.oid = d.objid
  left join pg_class c on c.oid = t.typrelid
 where d.classid = 'pg_type'::regclass and d.refclassid = 'pg_namespace'::regclass and d.refobjid = quote_ident(current_schema())::regnamespace
   and ${isOurs("d")} and (t.typtype in ('d', 'e') or c.relkind = 'c');
`;

const listRoutines = `update meta set routines = array(
  select o.object from (${routinesAndViews}) as o where o.is_new or o.object = any (meta.routines) order by 1);
`;

/**
 * A schema that others use, own or can create in is left alone. What is in Pgque's is nobody's to call or to read unless it is granted, and
 * goes with it; and a function that overloads one of Pgque's would run with the owner's rights.
 */
function refusalOfOthers(quoted: string): string {
  const schema = literal(quoted);
  return block(`
declare
  of_schema pg_namespace;
  open_to text;
begin
  select n.* into of_schema from pg_namespace n where n.oid = to_regnamespace(${schema});
  if exists (
    select from pg_depend d
     where d.refclassid = 'pg_namespace'::regclass and d.refobjid = of_schema.oid and d.classid <> 'pg_default_acl'::regclass
  ) then
    raise exception using
      errcode = 'PQ004',
      message = 'expected schema ' || ${schema} || ' to be empty or not to be there, found objects in it',
      hint = 'Install into a schema of its own, such as pgque.';
  end if;
  select string_agg(distinct coalesce(quote_ident(r.rolname), 'PUBLIC'), ', ') into open_to
    from aclexplode(of_schema.nspacl) g
    left join pg_roles r on r.oid = g.grantee
   where g.privilege_type = 'CREATE' and g.grantee <> of_schema.nspowner;
  if of_schema.nspowner <> current_user::regrole or open_to is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('expected schema %s to be owned by %I and no other role to hold CREATE on it, found it %s', ${schema}, current_user,
        case when open_to is null then 'owned by ' || of_schema.nspowner::regrole else 'open to CREATE by ' || open_to end),
      hint = 'Install into a schema that does not exist yet: who can create in it can add functions that the owner runs.';
  end if;
end`);
}

/** Runs PL/pgSQL. As a text with quotes: a dollar-quoted one could end in the name of a schema. */
function block(body: string): string {
  return `do ${literal(`${body}\n`)};\n`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Everything that `install` does in a database without the schema, as one script in one transaction, for a DBA or a migration
 * tool.
 *
 * @param schema name of the schema, default `pgque`
 */
export function script(schema: string = defaultSchema, release: Release = packagedRelease): string {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  return `-- Pgque ${release.version}\n${begin}${firstInstall(quoted, release)}commit;\n`;
}
