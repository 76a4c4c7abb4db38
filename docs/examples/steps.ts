import { Pgque, defineQueue } from "@pgque/client";
import { done, Worker } from "@pgque/worker";
import { z } from "zod";

const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });
const pgque = new Pgque(process.env["DATABASE_URL"]);
const worker = new Worker(
  pgque,
  orders,
  async ({ payload }, { attempt, step }) => {
    const charge = await step("charge", () => {
      console.log("charges order", payload.orderId);
      return { receipt: `r-${payload.orderId}` };
    });
    await step.sleep("cooling off", 200); // the message waits, and holds no place in the worker
    if (attempt === 1) throw new Error("the mail server is down"); // the next attempt has the receipt
    await step("mail", () => console.log("mails", charge.receipt));
    return done(charge);
  },
  { retryMinMs: 100 },
);
await worker.start();

console.log(await pgque.call(orders, { orderId: 42 }));
await worker.stop();
await pgque.close();
