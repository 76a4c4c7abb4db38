import { defineQueue } from "@pgque/client";
import { defineTask } from "pgque";
import { z } from "zod";

const sessions = defineQueue("sessions", { payload: z.object({ olderThanMinutes: z.number().int().positive() }) });

/** Deletes the sessions that have ended. A second run finds nothing to do. */
export default defineTask({
  queue: sessions,
  transactional: true,
  handler: async ({ payload }, { tx, log }) => {
    const { rowCount } = await tx.query(
      "delete from public.sessions where last_seen_at < now() - make_interval(mins => $1)",
      [payload.olderThanMinutes],
    );
    log.info("sessions deleted", { count: rowCount });
  },
});
