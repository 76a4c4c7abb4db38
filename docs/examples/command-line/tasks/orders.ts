import { defineQueue } from "@pgque/client";
import { defineTask } from "pgque";
import { z } from "zod";

const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });

export default defineTask({
  queue: orders,
  concurrency: 50,
  handler({ payload }, { log }) {
    if (payload.orderId < 0) throw new Error("no such order"); // tried again, and a dead letter in the end
    log.info("charged", { orderId: payload.orderId });
  },
});
