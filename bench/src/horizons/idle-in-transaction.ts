import type { Horizon } from "./horizon.ts";
import { holdInSession } from "./session.ts";

/** What a request does that wrote, and now waits for something else: no snapshot, but a transaction id. */
export const idleInTransaction: Horizon = {
  name: "idle-in-transaction",
  summary:
    "a READ COMMITTED transaction that has taken a transaction id, as every one that has written, and then does nothing; it has no snapshot",
  async hold(context) {
    const session = await holdInSession(context, async (client) => {
      await client.query("begin");
      await client.query("select pg_current_xact_id()");
    });
    return { prove: async () => ({ xminAge: await session.prove() }), release: () => session.release() };
  },
};
