import type { Horizon } from "./horizon.ts";
import { holdInSession } from "./session.ts";

/** What a report, an ORM's long transaction or a forgotten psql does: a snapshot and no writes. */
export const repeatableRead: Horizon = {
  name: "repeatable-read",
  summary:
    "an open REPEATABLE READ transaction that has read and goes on holding its snapshot; it has no transaction id",
  async hold(context) {
    const session = await holdInSession(context, async (client) => {
      await client.query("begin isolation level repeatable read read only");
      await client.query("select 1");
    });
    return { prove: async () => ({ xminAge: await session.prove() }), release: () => session.release() };
  },
};
