import type pg from "pg";
import { NotRun } from "../scenario/not-run.ts";
import { heldFrom } from "./held.ts";
import type { Horizon } from "./horizon.ts";
import { atLeastOne, needsSetting, needsSlot } from "./needs.ts";
import { lookAtSlot } from "./slots.ts";
import { joinAsStandby, type Standby, type StandbyOptions } from "./standby.ts";
import { until } from "./until.ts";

/** invalid_authorization_specification: what pg_hba.conf refuses. */
const refused = "28000";

/** What a standby with hot_standby_feedback does while a long query runs on it. */
export const standbyFeedback: Horizon = {
  name: "standby-feedback",
  summary:
    "a physical replication slot whose standby reports, by hot standby feedback, that a query on it still needs old row versions; the standby is a " +
    "client that speaks the replication protocol and throws the WAL away, so no session of this server has a snapshot",
  check: ({ admin }) => needsStandby(admin),
  async hold({ url, admin }) {
    const standby = await joinStandby(url, await oldestOpen(admin));
    try {
      const look = lookAtSlot(admin, standby.slotName, "xmin");
      await until(async () => Boolean((await look())?.xmin), "the server took no notice of the standby's feedback");
      const held = await heldFrom(`the standby's slot ${standby.slotName}`, look);
      return {
        prove: async () => ({ xminAge: await held.prove() }),
        async release() {
          await standby.leave();
          await held.gone();
        },
      };
    } catch (error) {
      await standby.leave();
      throw error;
    }
  },
};

/** @throws NotRun when the server takes no standby */
export async function needsStandby(admin: pg.Client): Promise<void> {
  await needsSlot(admin, ["replica", "logical"]);
  await needsSetting(admin, "max_wal_senders", atLeastOne);
}

/** The oldest transaction that is under way: what a query that begins now on a standby would need. */
export async function oldestOpen(admin: pg.Client): Promise<bigint> {
  const { rows } = await admin.query<{ xmin: string }>("select pg_snapshot_xmin(pg_current_snapshot())::text as xmin");
  return BigInt(rows[0]?.xmin ?? 0);
}

/** @throws NotRun when the server lets no standby in */
export async function joinStandby(url: string, xmin: bigint, options?: StandbyOptions): Promise<Standby> {
  try {
    return await joinAsStandby(url, xmin, options);
  } catch (error) {
    if ((error as { code?: string }).code !== refused) throw error;
    throw new NotRun(`the server takes no replication connection from here: ${(error as Error).message}`);
  }
}
