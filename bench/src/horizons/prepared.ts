import { holderOf, type Look } from "./held.ts";
import type { Horizon, HorizonContext } from "./horizon.ts";
import { atLeastOne, needsSetting, uniqueName } from "./cluster.ts";

const look = `
  select prepared::text as identity, transaction::text as xmin, age(transaction) as age
    from pg_prepared_xacts
   where gid = $1`;

/** What a transaction manager leaves behind when it dies between the two phases: held by nobody, and across restarts. */
export const prepared: Horizon = {
  name: "prepared",
  summary: "a prepared transaction that is neither committed nor rolled back; no session has it open",
  serverSettings: { max_prepared_transactions: 10 },
  check: ({ admin }) => needsSetting(admin, "max_prepared_transactions", atLeastOne),
  async hold(context) {
    const { admin } = context;
    const gid = uniqueName();
    await prepare(context, gid);
    return holderOf({
      who: `the prepared transaction ${gid}`,
      look: async () => (await admin.query<Look>(look, [gid])).rows[0],
      letGo: () => admin.query(`rollback prepared ${admin.escapeLiteral(gid)}`),
    });
  },
};

async function prepare({ connect }: HorizonContext, gid: string): Promise<void> {
  const client = await connect("holder");
  try {
    await client.query("begin");
    await client.query("select pg_current_xact_id()");
    await client.query(`prepare transaction ${client.escapeLiteral(gid)}`);
  } finally {
    await client.end();
  }
}
