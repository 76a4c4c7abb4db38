import { Pool, type Client } from "pg";
import { openDatabase } from "../../runner/server.ts";
import { serverCpu } from "../../measure/processes.ts";
import type { Place, Store } from "../adapter.ts";

/** Of one database, until what is made in it is known. */
export interface PgStore {
  pool: Pool;
  store: Omit<Store, "send" | "unsettled"> & { admin: NonNullable<Store["admin"]> };
}

/** A fresh database in which a store is set up; it is removed when that fails. */
export async function storeIn(place: Place, setUp: (opened: PgStore) => Promise<Store>): Promise<Store> {
  const opened = await pgStore(place);
  try {
    return await setUp(opened);
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}

/** Every connection to it has the run's `synchronous_commit`. */
async function pgStore({ server, synchronousCommit }: Place): Promise<PgStore> {
  const database = await openDatabase(server, synchronousCommit);
  const pool = openPool(database.url, 2);
  const close = async (): Promise<void> => {
    await pool.end();
    await database.close();
  };
  try {
    const admin = await database.connect("admin");
    const settleDown = async (): Promise<void> => {
      await admin.query("vacuum (analyze)");
      await server.checkpoint();
    };
    return { pool, store: { url: database.url, cpu: await serverCpu(admin), admin, settleDown, close } };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A connection that breaks makes its call fail; without a listener it would end the process. */
export function openPool(connectionString: string, max: number): Pool {
  const pool = new Pool({ connectionString, max });
  return pool.on("error", () => undefined).on("connect", (client) => client.on("error", () => undefined));
}

/** Of a pool that so many workers and the senders share. */
export const connectionsOf = (workers: number): number => Math.min(50, 4 * workers + 6);

/** Opens so many connections of it: that is not a part of what is measured. */
export async function warm(pool: Pool, connections: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()));
  for (const client of clients) client.release();
}

/** `table`: its name, quoted where it must be. */
export async function rowsIn(client: Client, table: string): Promise<number> {
  const { rows } = await client.query<{ rows: string }>(`select count(*) as rows from ${table}`);
  return Number(rows[0]?.rows);
}
