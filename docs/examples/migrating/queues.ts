import { defineQueue } from "@pgque/client";
import { z } from "zod";

/** Confirmations before reminders. */
export const mails = defineQueue("mails", {
  payload: z.object({ to: z.string(), subject: z.string() }),
  priorities: 10,
});

/** Of one account one after the other; accounts side by side. */
export const bookings = defineQueue("bookings", {
  payload: z.object({ account: z.string(), cents: z.number().int() }),
  partitions: 16,
});

export const digests = defineQueue("digests", { payload: z.object({ kind: z.string() }) });
