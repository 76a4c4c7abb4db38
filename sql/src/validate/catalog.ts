import type { SqlClient } from "../client.ts";

/** One thing of a schema that the catalog describes: what it is, and how it is defined, as a text. */
export interface CatalogEntry {
  /** `function send(text)`, `column queue.name`, `right function send(text) to pgque_writer`, … */
  name: string;
  definition: string;
  /** The number of the queue that it was made for, by its name; null for what every install has. */
  queueId: number | null;
}

/** All of a schema but its rows: routines, relations, columns, constraints, indexes, sequences, types, triggers, rules and rights. */
export async function readCatalog(
  client: SqlClient,
  schema: string,
  only?: "function",
): Promise<Map<string, CatalogEntry>> {
  const { rows } = await client.query(query, [schema, only ?? null]);
  return new Map(
    rows.map((row) => {
      const { kind, name, definition, of } = row as { kind: string; name: string; definition: string; of: string };
      const [, id] = ofQueue.exec(of) ?? [];
      const queueId = id === undefined ? null : Number(id);
      return [`${kind} ${name}`, { name: `${kind} ${name}`, definition, queueId }];
    }),
  );
}

/** Names of what a queue has of its own end in its number, and that of the segment. */
const ofQueue =
  /^(?:message|batch|outcome|cancelled|has_cancelled|(?:message|batch)_seq|segment_pointer|lock_attempts|idle|send|send_batch|receive|ack|lane_of|consumer_status)_(\d+)(?:_\d+)?$/;

/** What a table or an index is a child or a partition of. */
const parentsOf = (relation: string): string => `(
           select 'of ' || string_agg(p.relname || case when h.inhdetachpending then ' (being detached)' else '' end, ', ' order by h.inhseqno)
             from pg_inherits h join pg_class p on p.oid = h.inhparent
            where h.inhrelid = ${relation})`;

// A definition names no owner but whether it is the schema's, so that any superuser may compare. Rights that are the owner's by default
// are left out.
const query = `
select * from (
with of_schema as (
  select n.oid, n.nspowner, n.nspacl from pg_namespace n where n.nspname = $1
),
routines as (
  select p.*, p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' as name
    from pg_proc p join of_schema n on n.oid = p.pronamespace
   where p.prokind in ('f', 'p')
),
relations as (
  select c.* from pg_class c join of_schema n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'm', 'S')
),
own_types as (
  select t.* from pg_type t join of_schema n on n.oid = t.typnamespace
   where t.typtype in ('d', 'e') or t.typtype = 'c' and (select c.relkind = 'c' from pg_class c where c.oid = t.typrelid)
),
rights as (
  select 'function ' || r.name as name, r.proname::text as of, coalesce(r.proacl, acldefault('f', r.proowner)) as acl, r.proowner as owner
    from routines r
  union all
  select 'relation ' || r.relname, r.relname::text,
         coalesce(r.relacl, acldefault(case r.relkind when 'S' then 's' else 'r' end::"char", r.relowner)), r.relowner
    from relations r
  union all
  select 'type ' || t.typname, t.typname::text, coalesce(t.typacl, acldefault('T', t.typowner)), t.typowner from own_types t
  union all
  select 'schema', '', coalesce(n.nspacl, acldefault('n', n.nspowner)), n.nspowner from of_schema n
)
select 'function' as kind, r.name, r.proname::text as of,
       pg_get_functiondef(r.oid) || case when r.proowner = n.nspowner then '' else ' owned by another role' end as definition
  from routines r, of_schema n
union all
select 'relation', r.relname, r.relname,
       concat_ws(' ', r.relkind, r.relpersistence, r.reloptions::text, 'toast ' || (select t.reloptions::text from pg_class t where t.oid = r.reltoastrelid),
         ${parentsOf("r.oid")}, case when r.relkind = 'p' then pg_get_partkeydef(r.oid) end,
         case when r.relkind in ('v', 'm') then pg_get_viewdef(r.oid) end, pg_get_expr(r.relpartbound, r.oid),
         case when r.relrowsecurity then 'row security' end, case when r.relowner <> n.nspowner then 'owned by another role' end)
  from relations r, of_schema n
union all
select 'column', c.relname || '.' || a.attname, c.relname,
       concat_ws(' ', format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end, nullif(a.attidentity::text, ''), nullif(a.attgenerated::text, ''),
         pg_get_expr(d.adbin, d.adrelid), (select l.collname from pg_collation l where l.oid = a.attcollation))
  from pg_class c
  join of_schema n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
 where c.relkind in ('r', 'p', 'v', 'm', 'c')
union all
select 'constraint', coalesce(c.relname, t.typname) || '.' || k.conname, coalesce(c.relname, t.typname),
       pg_get_constraintdef(k.oid) || case when k.convalidated then '' else ' not valid' end
  from pg_constraint k
  join of_schema n on n.oid = k.connamespace
  left join pg_class c on c.oid = k.conrelid
  left join pg_type t on t.oid = k.contypid
 where k.contype <> 'n'
union all
select 'index', i.relname, t.relname,
       concat_ws(' ', pg_get_indexdef(i.oid), ${parentsOf("i.oid")}, case when not x.indisvalid then 'invalid' end)
  from pg_index x
  join pg_class i on i.oid = x.indexrelid
  join pg_class t on t.oid = x.indrelid
  join of_schema n on n.oid = t.relnamespace
union all
select 'sequence', c.relname, c.relname,
       concat_ws(' ', format_type(s.seqtypid, null), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
         (select format('owned by %s.%s', t.relname, a.attname)
            from pg_depend o
            join pg_class t on t.oid = o.refobjid
            join pg_attribute a on a.attrelid = t.oid and a.attnum = o.refobjsubid
           where o.classid = 'pg_class'::regclass and o.objid = c.oid and o.refclassid = 'pg_class'::regclass and o.deptype in ('a', 'i')))
  from pg_sequence s
  join pg_class c on c.oid = s.seqrelid
  join of_schema n on n.oid = c.relnamespace
union all
select 'type', t.typname, t.typname,
       concat_ws(' ', t.typtype, format_type(nullif(t.typbasetype, 0), t.typtypmod), case when t.typnotnull then 'not null' end, t.typdefault,
         (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
  from own_types t
union all
select 'trigger', c.relname || '.' || g.tgname, c.relname, pg_get_triggerdef(g.oid) || ' ' || g.tgenabled::text
  from pg_trigger g
  join pg_class c on c.oid = g.tgrelid
  join of_schema n on n.oid = c.relnamespace
 where not g.tgisinternal
union all
select 'rule', c.relname || '.' || w.rulename, c.relname, pg_get_ruledef(w.oid) || ' ' || w.ev_enabled::text
  from pg_rewrite w
  join pg_class c on c.oid = w.ev_class
  join of_schema n on n.oid = c.relnamespace
 where w.rulename <> '_RETURN'
union all
select 'right', r.name || ' to ' || coalesce((select g.rolname from pg_roles g where g.oid = x.grantee), 'public'), r.of,
       string_agg(x.privilege_type || case when x.is_grantable then ' with grant option' else '' end, ', ' order by x.privilege_type)
  from rights r
 cross join aclexplode(r.acl) as x
 where x.grantee <> r.owner
 group by r.name, r.of, x.grantee
) as entry where $2::text is null or kind = $2::text`;
