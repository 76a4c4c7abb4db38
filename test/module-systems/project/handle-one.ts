import { defineQueue, type Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";

const orders = defineQueue("orders");

/** Sends a message, and returns the payload that a worker was given. */
export async function handleOne(pgque: Pgque): Promise<unknown> {
  await pgque.ensure(orders);
  await pgque.subscribe(orders, "billing");
  await pgque.send(orders, { orderId: 42 });
  let worker: Worker | undefined;
  const payload = await new Promise((resolve) => {
    worker = new Worker(pgque, orders, async (message) => resolve(message.payload), { consumer: "billing" });
    void worker.start();
  });
  await worker?.stop();
  return payload;
}
