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

/** Returns whether dead tuples can be counted exactly: where the extension is missing or may not be made, the statistics have to do. */
export async function createPgstattuple(client: pg.Client): Promise<boolean> {
  return client.query("create extension pgstattuple").then(
    () => true,
    () => false,
  );
}

/** Over all tables of a schema; none for no schema. `exact`: what `createPgstattuple` returned. */
export async function deadTuplesIn(client: pg.Client, schema: string | null, exact: boolean): Promise<DeadTuples> {
  if (schema === null) return deadTuplesOf([]);
  if (exact) return countDeadTuples(client, schema);
  const relations = await relationsOf(client, schema);
  return deadTuplesOf(relations.filter(({ name }) => !name.endsWith("_seq")));
}

/** What a system gave back to the operating system between two samples. */
export interface Reclaimed {
  bytes: number;
  /** Segments emptied by TRUNCATE; null for a system that has none. */
  rotations: number | null;
}

/**
 * A table whose file was replaced gave back all it had; one that merely shrank gave back the difference. What came and
 * went between two samples is not seen, so both figures are lower bounds.
 */
export function reclaimedBetween(before: Relation[], after: Relation[], segments: RegExp | null): Reclaimed {
  const earlier = new Map(before.map((relation) => [relation.oid, relation]));
  const seen = new Set(after.map(({ oid }) => oid));
  let bytes = before.filter(({ oid }) => !seen.has(oid)).reduce((sum, gone) => sum + gone.bytes, 0);
  let rotations = 0;
  for (const now of after) {
    const then = earlier.get(now.oid);
    if (then === undefined) continue;
    const replaced = then.filenode !== now.filenode;
    bytes += replaced ? then.bytes : Math.max(0, then.bytes - now.bytes);
    if (replaced && segments?.test(now.name)) rotations += 1;
  }
  return { bytes, rotations: segments === null ? null : rotations };
}

/** Bytes of WAL ever written by anybody, what is still in memory included. */
export async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>({
    name: "wal_position",
    text: "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
  });
  return rows[0]?.bytes ?? Number.NaN;
}

export async function walBytesOf(client: pg.Client, work: () => Promise<unknown>): Promise<number> {
  const before = await walPosition(client);
  await work();
  return (await walPosition(client)) - before;
}
