import { Pgque, defineQueue } from "@pgque/client";

const mails = defineQueue("mails", { maxRetries: 0 });
const pgque = new Pgque(process.env["DATABASE_URL"]);
await pgque.ensure(mails);
await pgque.subscribe(mails, "sender");
const { id } = await pgque.send(mails, { to: "nobody@example.org" });

// what is there, and how far its consumers are
for (const { name, bytes, delayed } of await pgque.queues.list()) console.log("queue", name, bytes > 0, delayed);
for (const { name, depth, lagMs } of await pgque.consumers.list(mails)) console.log(name, depth, lagMs !== null);
for (const { payload } of await pgque.messages.peek(mails, { consumer: "sender" })) console.log("next", payload);

const batch = await pgque.receive(mails, { consumer: "sender" });
await batch.nack([id], { reason: "550 no such user" });

// what has become of a message, and of all like it
for (const { state, reason } of await pgque.messages.find(mails, id)) console.log(state, "because", reason);
const refused = { consumer: "sender", reasonLike: "550 %" };
console.log("dead:", (await pgque.deadLetters.list(mails, { ...refused, max: 20 })).length);
console.log("redriven:", await pgque.deadLetters.redrive(mails, refused));

await pgque.queues.change(mails, { maxRetries: 3, retentionMs: 3_600_000 });
await pgque.consumers.change(mails, "sender", { rateLimit: 100, ratePeriodMs: 1000 });
await pgque.consumers.seek(mails, "sender", new Date(Date.now() - 60_000)); // once more, what is kept of the last minute
await pgque.schedules.set("newsletter", mails, "0 8 * * 1", { to: "everybody" }, { timeZone: "Europe/Berlin" });
await pgque.queues.drop(mails, { force: true });
await pgque.close();
