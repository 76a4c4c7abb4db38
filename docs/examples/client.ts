import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { Pgque, isPgqueError, defineQueue } from "@pgque/client";
import { z } from "zod";

// several types of message, and what a send does unless it says otherwise
const orders = defineQueue("orders", {
  types: {
    created: z.object({ orderId: z.number().int(), total: z.number() }),
    paid: z.object({ orderId: z.number().int(), at: z.coerce.date() }),
  },
  maxRetries: 8,
  defaults: {
    headers: { source: "shop" },
    dedupeKey: ({ orderId }, type) => `${type} ${orderId}`,
    retryAfterMs: 10_000,
  },
});

const pgque = new Pgque(process.env["DATABASE_URL"], { retryForMs: 10_000 });
await pgque.ensure(orders);
await pgque.subscribe(orders, "billing");

const { id } = await pgque.send(orders, { orderId: 1, total: 9.9 }, { type: "created" });
const again = await pgque.send(orders, { orderId: 1, total: 9.9 }, { type: "created" });
console.log("sent once:", again.deduplicated, again.id === id);

try {
  await pgque.send(orders, { orderId: 2, at: "yesterday" }, { type: "paid", signal: AbortSignal.timeout(2000) });
} catch (error) {
  if (!isPgqueError(error, "PAYLOAD_INVALID")) throw error;
  console.log("refused:", error.details.issues?.[0]?.path);
}

// a file of any length, in bounded memory
async function* lines(file: string) {
  for await (const line of createInterface(createReadStream(file))) yield { orderId: line.length, at: new Date() };
}
console.log("streamed:", (await pgque.sendStream(orders, lines(import.meta.filename), { type: "paid" })) > 0);

// until nothing is left; `consume` waits for more, and a worker is woken for it
for await (const batch of pgque.batches(orders, { consumer: "billing", max: 500 })) {
  for (const message of batch) {
    if (message.type === "created") console.log("charge", message.payload.total); // a number, by type
  }
  await batch.extend(60_000); // this takes longer than was thought
}
await pgque.close();
