import { Pgque } from "@pgque/client";
import { runUntilSignal, Worker } from "@pgque/worker";
import { placed } from "./queues.ts";

const pgque = new Pgque(process.env["DATABASE_URL"]);

// the shipment and the ack commit together: a crash loses both, and the message comes again
const shipper = new Worker(
  pgque,
  placed,
  async ({ payload }, { tx }) => {
    await tx.query("insert into public.shipments (order_id) values ($1)", [payload.orderId]);
  },
  { transactional: true },
);
await runUntilSignal([shipper], pgque);
