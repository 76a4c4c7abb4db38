import type pg from "pg";
import { perScale, updatedTables, type UpdatedTable } from "./tpcb-tables.ts";

/** Of each table. */
const lookUps = 100;

const keys = { accounts: "aid", tellers: "tid", branches: "bid" };

interface Explained {
  "QUERY PLAN": [{ Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number } }];
}

/**
 * How many pages of index and table it takes to find a row by its key, on average over random ones. Asked by a client that may only use the index, when
 * the load has stopped: the server's own count of pages has those of VACUUM in it.
 */
export async function buffersPerIndexScan(client: pg.Client, scale: number): Promise<Record<UpdatedTable, number>> {
  await client.query("set enable_seqscan = off; set enable_bitmapscan = off");
  const means: [UpdatedTable, number][] = [];
  for (const table of updatedTables) {
    let sum = 0;
    for (let n = 0; n < lookUps; n++) {
      const key = 1 + Math.floor(Math.random() * perScale[table] * scale);
      const { rows } = await client.query<Explained>(
        `explain (analyze, buffers, timing off, format json) select * from tpcb.${table} where ${keys[table]} = $1::int`,
        [key],
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan;
      sum += plan === undefined ? Number.NaN : plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    }
    means.push([table, sum / lookUps]);
  }
  return Object.fromEntries(means) as Record<UpdatedTable, number>;
}
