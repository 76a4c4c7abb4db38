import { Pgque, defineQueue } from "@pgque/client";

const pgque = new Pgque(process.env["DATABASE_URL"]);
const reminders = defineQueue("reminders", { allowCancel: true });
await pgque.ensure(reminders);
await pgque.subscribe(reminders);

// tomorrow, unless the order is paid
const { id } = await pgque.send(reminders, { orderId: 42 }, { delayMs: 86_400_000 });
for (const { consumer, state } of await pgque.cancel(reminders, id)) console.log(consumer, state);

// by the dedupe key, for who does not keep ids
await pgque.send(reminders, { orderId: 43 }, { delayMs: 86_400_000, dedupeKey: "order-43" });
console.log((await pgque.cancelByKey(reminders, "order-43")).length, "cancelled by key");
await pgque.send(reminders, { orderId: 43 }, { dedupeKey: "order-43" }); // not a duplicate

const batch = await pgque.receive(reminders);
for (const { payload } of batch) console.log("received", payload);
await batch.ack();
await pgque.close();
