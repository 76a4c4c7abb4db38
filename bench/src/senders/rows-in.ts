import type pg from "pg";

/** `table`: its name, quoted where it must be. */
export async function rowsIn(client: pg.Client, table: string): Promise<number> {
  const { rows } = await client.query<{ rows: string }>(`select count(*) as rows from ${table}`);
  return Number(rows[0]?.rows);
}
