import { Pgque, defineQueue } from "@pgque/client";

const pgque = new Pgque(process.env["DATABASE_URL"]);

// higher priorities first; every tenth batch begins with the lowest
const mails = defineQueue("mails", { priorities: 10, lowPriorityEvery: 10 });
await pgque.ensure(mails);
await pgque.subscribe(mails);
await pgque.send(mails, "newsletter");
await pgque.send(mails, "password reset", { priority: 9 });

// one account's messages in order and one at a time, by any number of workers; a failure holds up its account
const accounts = defineQueue("accounts", { partitions: 16 });
await pgque.ensure(accounts);
await pgque.subscribe(accounts, "ledger", { mode: "ordered", onFailure: "block" });
await pgque.sendMany(accounts, ["open a", "open b", "credit a"], { keys: ["a", "b", "a"] });

// at most three deliveries at once for each customer, out of order; keys of one partition share the limit, so there are many
const webhooks = defineQueue("webhooks", { partitions: 256 });
await pgque.ensure(webhooks);
await pgque.subscribe(webhooks, "deliver", { maxInFlightPerKey: 3 });
await pgque.send(webhooks, { url: "https://example.com" }, { key: "customer-7" });

// sent once, however often the request comes; of no use after a minute; at most ten a second, five in flight
const pushes = defineQueue("pushes", { allowExpiry: true });
await pgque.ensure(pushes);
await pgque.subscribe(pushes, "phone", { rateLimit: 10, ratePeriodMs: 1000, maxInFlight: 5 });
await pgque.send(pushes, "your taxi is here", { dedupeKey: "ride-7/arrived", ttlMs: 60_000 });
await pgque.send(pushes, "your taxi is here", { dedupeKey: "ride-7/arrived", ttlMs: 60_000 });

await pgque.queues.pause(mails); // nothing is received; sends go on
await pgque.queues.resume(mails);

for (const [queue, consumer] of [
  [mails, "default"],
  [accounts, "ledger"],
  [webhooks, "deliver"],
  [pushes, "phone"],
] as const) {
  for (;;) {
    const batch = await pgque.receive(queue, { consumer });
    if (batch.id === null) break;
    for (const { payload, priority, key } of batch.messages) console.log(queue.name, payload, priority ?? key);
    await batch.ack();
  }
}
await pgque.close();
