import { heldBySession } from "./session.ts";

/** What a request does that wrote, and now waits for something else: no snapshot, but a transaction id. */
export const idleInTransaction = heldBySession(
  {
    name: "idle-in-transaction",
    summary:
      "a READ COMMITTED transaction that has taken a transaction id, as every one that has written, and then does nothing; it has no snapshot",
  },
  "begin",
  "select pg_current_xact_id()",
);
