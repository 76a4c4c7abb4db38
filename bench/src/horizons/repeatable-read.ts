import { heldBySession } from "./session.ts";

/** What a report, an ORM's long transaction or a forgotten psql does: a snapshot and no writes. */
export const repeatableRead = heldBySession(
  {
    name: "repeatable-read",
    summary:
      "an open REPEATABLE READ transaction that has read and goes on holding its snapshot; it has no transaction id",
  },
  "begin isolation level repeatable read read only",
  "select 1",
);
