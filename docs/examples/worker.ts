import { once } from "node:events";
import { Pgque, defineQueue } from "@pgque/client";
import { deadLetter, retry, snooze, UnrecoverableError, Worker } from "@pgque/worker";
import { z } from "zod";

const pgque = new Pgque(process.env["DATABASE_URL"]);
await pgque.pool.query("create table if not exists public.ledger (order_id int primary key, cents int)");

// a handler for each type of message; what it returns or throws says what becomes of its message
const orders = defineQueue("orders", {
  types: {
    created: z.object({ orderId: z.number().int(), cents: z.number().int() }),
    cancelled: z.object({ orderId: z.number().int() }),
  },
});
const billing = new Worker(
  pgque,
  orders,
  {
    // commits with its ack, so it happens exactly once; what it sends goes with it
    created: async ({ payload }, { tx, send }) => {
      await tx.query("insert into public.ledger values ($1, $2)", [payload.orderId, payload.cents]);
      await send(receipts, payload.orderId);
    },
    cancelled: ({ payload, attempt }) => {
      if (payload.orderId < 0) throw new UnrecoverableError("no such order"); // a dead letter immediately
      if (attempt < 3) return retry({ afterMs: 10 }, "the gateway said 503"); // one attempt further
      return deadLetter("the gateway is gone");
    },
  },
  { transactional: true, unknownType: "deadLetter", timeoutMs: 30_000, maxAgeMs: 86_400_000 },
);

// many messages in a call; what becomes of each, in their order
const receipts = defineQueue("receipts", { payload: z.number() });
const opensAt = Date.now() + 50;
const mailer = new Worker(
  pgque,
  receipts,
  (messages) =>
    messages.map(({ payload }) => (Date.now() < opensAt ? snooze({ at: new Date(opensAt) }) : mail(payload))),
  { batch: true, batchSize: 50, concurrency: 2 },
);
function mail(orderId: number): void {
  console.log("receipt", orderId);
}

// one account's messages one after the other, whichever of the workers has them; different accounts concurrently
const accounts = defineQueue("accounts", { partitions: 16 });
const ledger = new Worker(pgque, accounts, ({ payload, key }) => console.log("account", key, payload), {
  mode: "ordered",
  onFailure: "block",
});

await Promise.all([billing, mailer, ledger].map((worker) => worker.start()));
await pgque.send(orders, { orderId: 1, cents: 990 }, { type: "created" });
await pgque.send(orders, { orderId: 1 }, { type: "cancelled" });
await pgque.sendMany(accounts, ["opened", "credited", "closed"], { key: "a" });

await once(process, "SIGTERM");
await Promise.all([billing, mailer, ledger].map((worker) => worker.stop()));
for (const { type, reason } of await pgque.deadLetters.list(orders)) console.log("dead", type, reason);
await pgque.close();
