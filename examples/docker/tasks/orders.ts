import { defineTask } from "pgque";
import { orders } from "../queues.ts";

/** Writes a receipt for each order. It commits with the ack, so that each order has exactly one. */
export default defineTask({
  queue: orders,
  transactional: true,
  handler: async ({ id, payload }, { tx }) => {
    await tx.query("insert into public.receipts (message_id, item) values ($1, $2)", [id, payload.item]);
  },
});
