import type pg from "pg";

/**
 * Copies a schema as logical replication does: the rows of every table, into tables that were made there before. Sequences stay as they
 * were made.
 */
export async function copyRows(from: pg.Client, to: pg.Client): Promise<void> {
  const { rows: queues } = await from.query(
    "select id, name, pgque.segment_count(id) as segments from pgque.queue order by id",
  );
  await to.query("select pgque.create_queue(n::text) from generate_series(1, $1::int) as n", [queues.at(-1).id]);
  for (const { id, segments } of queues)
    for (let segment = 3; segment < segments; segment++)
      await to.query("select pgque.grow_ring($1, $2)", [id, segment]);
  await to.query("select pgque.drop_queue(q.name) from pgque.queue q where q.id <> all ($1::int[])", [
    queues.map(({ id }) => id),
  ]);

  const { rows: tables } = await from.query(
    "select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'pgque'::regnamespace and c.relkind = 'r'",
  );
  await to.query("set session_replication_role = replica");
  await to.query(`truncate ${tables.map(({ name }) => name).join(", ")}`);
  for (const { name } of tables) {
    const { rows } = await from.query(`select json_agg(t)::text as rows from only ${name} t`);
    await to.query(
      `insert into ${name} overriding system value select * from json_populate_recordset(null::${name}, $1)`,
      [rows[0].rows ?? "[]"],
    );
  }
  await to.query("reset session_replication_role");
  await to.query("select pgque.generate_dispatchers()");
}
