import type pg from "pg";

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
