import type pg from "pg";

/** The planner has nothing else to choose than what it would choose for a full table. */
export async function steadyPlans(client: pg.Client): Promise<void> {
  const unwanted = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"];
  await client.query(unwanted.map((plan) => `set enable_${plan} = off`).join("; "));
}
