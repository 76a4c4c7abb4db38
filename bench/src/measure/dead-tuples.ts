import type pg from "pg";
import { countDeadTuples, deadTuplesOf, relationsOf, type DeadTuples } from "./relations.ts";

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
