import { Pool } from "pg";

/** A pool whose connections may break, idle or not, without ending the process: what matters is what the queries say. */
export function poolOf(connectionString: string, max: number): Pool {
  const pool = new Pool({ connectionString, max });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}
