import { Pgque } from "@pgque/client";
import { runUntilSignal, Worker } from "@pgque/worker";
import { placed } from "./lib/queues.ts";

const pgque = new Pgque(process.env["DATABASE_URL"]);

// the receipt commits with the ack, so that each order has exactly one
const receipts = new Worker(
  pgque,
  placed,
  async ({ payload }, { tx }) => {
    await tx.query("insert into public.receipts (order_id) values ($1)", [payload.orderId]);
  },
  { transactional: true },
);
await runUntilSignal([receipts], pgque);
