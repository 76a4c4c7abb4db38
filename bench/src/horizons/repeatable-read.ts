import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Horizon } from "./horizon.ts";

interface HolderState {
  xmin: string | null;
  age: number | null;
  xid: string | null;
  /** The next transaction id. */
  next: number;
}

const holderState = `
  select backend_xmin::text as xmin, age(backend_xmin) as age, backend_xid::text as xid,
         pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next
    from pg_stat_activity
   where pid = $1`;

/** What a report, an ORM's long transaction or a forgotten psql does: a snapshot and no writes. */
export const repeatableRead: Horizon = {
  name: "repeatable-read",
  summary:
    "an open REPEATABLE READ transaction that has read and goes on holding its snapshot; it has no transaction id",
  async hold({ connect, admin }) {
    const client = await connect("holder");
    const look = async (): Promise<HolderState | undefined> =>
      (await admin.query<HolderState>(holderState, [pid])).rows[0];
    const pid = await takeSnapshot(client);
    const taken = await look();
    if (!taken?.xmin) throw new Error(`the holder (session ${pid}) took no snapshot`);
    return {
      async prove() {
        const now = await look();
        if (now === undefined) throw new Error(`the holder (session ${pid}) is gone`);
        if (now.xmin !== taken.xmin) {
          throw new Error(`the holder (session ${pid}) moved from xmin ${taken.xmin} to ${now.xmin ?? "none"}`);
        }
        const used = now.next - taken.next;
        if (now.age === null || now.age < used) {
          throw new Error(`the holder's xmin is ${now.age} transactions old, expected at least the ${used} used since`);
        }
        return now.age;
      },
      async release() {
        await client.query("rollback");
        for (let tries = 0; (await look())?.xmin; tries++) {
          if (tries === 100) throw new Error(`the holder (session ${pid}) still has an xmin after its rollback`);
          await sleep(20);
        }
      },
    };
  },
};

async function takeSnapshot(client: pg.Client): Promise<number> {
  await client.query("begin isolation level repeatable read read only");
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}
