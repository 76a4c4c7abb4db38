import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { ok, type Check } from "./finding.ts";

/** As long as a worker waits for the same. */
const probeMs = 2000;

/** Whether a notification reaches who listens: not through a transaction pooler. */
export const notificationsCheck: Check = {
  name: "notifications",
  needsSchema: false,
  async run({ client, connect }) {
    const { rows } = await client.query<{ isStandby: boolean }>(`select pg_is_in_recovery() as "isStandby"`);
    if (rows[0]?.isStandby) return [ok("this is a standby, where nobody can listen: workers belong on the primary")];
    const channel = `pgque_probe_${randomBytes(8).toString("hex")}`;
    const listener = await connect();
    try {
      const arrived = once(listener, "notification", { signal: AbortSignal.timeout(probeMs) }).then(
        () => true,
        () => false,
      );
      await listener.query(`listen ${channel}`);
      await client.query("select pg_notify($1, '')", [channel]);
      if (await arrived) return [ok("they arrive")];
      await listener.query(`unlisten ${channel}`);
    } finally {
      await listener.end().catch(() => undefined);
    }
    return [
      {
        severity: "warning",
        found: "a notification did not arrive: there is a transaction pooler between this and the server",
        why: "workers poll instead, up to a second late while idle, and a crash of theirs is noticed after 15 s instead of immediately",
        fix: ["-- give workers a connection string that goes to the server, or to a pool in session mode"],
      },
    ];
  },
};
