import type pg from "pg";

/** One table of the system under test, with its indexes and its TOAST table counted in. */
export interface Relation {
  name: string;
  oid: number;
  /** Changes when the table is truncated or rewritten: what it had on disk was given back whole. */
  filenode: string;
  bytes: number;
  indexBytes: number;
  liveTuples: number;
  deadTuples: number;
  updates: number;
  deletes: number;
  autovacuums: number;
}

const relationsOfSchema = `
  select c.relname as name, c.oid::int8::int4 as oid,
         coalesce(pg_relation_filenode(c.oid), 0)::text as filenode,
         coalesce(pg_total_relation_size(c.oid), 0)::float8 as "bytes",
         case when c.relkind = 'S' then 0 else coalesce(pg_indexes_size(c.oid), 0)::float8 end as "indexBytes",
         pg_stat_get_live_tuples(c.oid)::float8 as "liveTuples",
         (pg_stat_get_dead_tuples(c.oid) + case when c.reltoastrelid = 0 then 0
           else pg_stat_get_dead_tuples(c.reltoastrelid) end)::float8 as "deadTuples",
         pg_stat_get_tuples_updated(c.oid)::float8 as "updates",
         pg_stat_get_tuples_deleted(c.oid)::float8 as "deletes",
         pg_stat_get_autovacuum_count(c.oid)::float8 as "autovacuums"
    from pg_class c
   where c.relnamespace = $1::regnamespace
     and c.relkind in ('r', 'm', 'S')
   order by c.relname`;

/**
 * Every table and sequence of a schema, as the statistics have it: up to a second behind for busy sessions, ten for idle
 * ones (see `flushStatistics`). None for no schema.
 */
export async function relationsOf(client: pg.Client, schema: string | null): Promise<Relation[]> {
  const { rows } = await client.query<Relation>({ name: "relations", text: relationsOfSchema, values: [schema] });
  return rows;
}

/** Makes sessions hand in what they have counted. PostgreSQL 14 cannot be asked to and does so within half a second. */
export async function flushStatistics(clients: pg.Client[], serverMajor: number): Promise<void> {
  if (serverMajor < 15) return;
  await Promise.all(clients.map((client) => client.query("select pg_stat_force_next_flush()")));
}

export interface DeadTuples {
  byRelation: Record<string, number>;
  total: number;
}

/** A row version is dead when no snapshot, present or future, but an old one can see it. TOAST counts for its table. */
const exactDeadTuples = `
  select owner.relname as name, sum(dead.dead_tuple_count)::float8 as "deadTuples"
    from pg_class owner
    cross join lateral unnest(array[owner.oid, nullif(owner.reltoastrelid, 0)]) as part(oid)
    cross join lateral pgstattuple(part.oid) as dead
   where owner.relnamespace = $1::regnamespace
     and owner.relkind in ('r', 'm')
     and part.oid is not null
   group by owner.relname
   order by owner.relname`;

/**
 * Reads every page of every table of the schema and counts the dead row versions. For a moment when nothing is running:
 * on a big table it takes seconds. Needs the extension `pgstattuple`.
 */
export async function countDeadTuples(client: pg.Client, schema: string): Promise<DeadTuples> {
  const { rows } = await client.query<{ name: string; deadTuples: number }>(exactDeadTuples, [schema]);
  return deadTuplesOf(rows);
}

export function deadTuplesOf(relations: { name: string; deadTuples: number }[]): DeadTuples {
  const byRelation = Object.fromEntries(relations.map(({ name, deadTuples }) => [name, deadTuples]));
  return { byRelation, total: relations.reduce((sum, { deadTuples }) => sum + deadTuples, 0) };
}
