import type pg from "pg";
import { NotRun } from "../runner/failure.ts";
import { holderOf } from "./held.ts";
import type { Horizon } from "./horizon.ts";
import { needsSlot, uniqueName, lookAtSlot } from "./cluster.ts";

const firstMajor = 19;

/** PostgreSQL's own slot for all such subscriptions of the server. */
const slotName = "pg_conflict_detection";

/** A subscriber that is to find out whether what it is sent was deleted here meanwhile, and so keeps what is dead. */
export const retainDeadTuples: Horizon = {
  name: "retain-dead-tuples",
  summary:
    "a logical subscription with retain_dead_tuples, of PostgreSQL 19 and later, that is disabled: until it goes on, the server keeps what it may ask for",
  async check({ admin }) {
    const { rows } = await admin.query<{ major: number; version: string }>(
      "select current_setting('server_version_num')::int / 10000 as major, current_setting('server_version') as version",
    );
    const [server] = rows;
    if (server === undefined || server.major < firstMajor) {
      throw new NotRun(`retain_dead_tuples is of PostgreSQL ${firstMajor} and later, this is ${server?.version}`);
    }
    await needsSlot(admin, ["replica", "logical"]);
  },
  async hold({ admin }) {
    const name = uniqueName();
    await subscribe(admin, name);
    return holderOf({
      who: `the slot ${slotName}`,
      look: lookAtSlot(admin, slotName, "xmin"),
      async letGo() {
        await admin.query(`drop subscription ${name}`);
        // the server drops its slot when its launcher wakes up the next time, within three minutes: a reload wakes it
        await admin.query("select pg_reload_conf()");
      },
      otherwise: `the server did not make the slot ${slotName}`,
    });
  },
};

/** There need be no publisher: it is never connected to. */
async function subscribe(admin: pg.Client, name: string): Promise<void> {
  await admin.query(
    `create subscription ${name} connection 'dbname=nowhere' publication ${name}
       with (connect = false, slot_name = none, retain_dead_tuples = true)`,
  );
}
