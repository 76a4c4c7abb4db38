import { defineQueue, type Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { z } from "zod";

const placed = defineQueue("orders-placed", { payload: z.object({ orderId: z.string() }) });

/** Stores an order and announces it: both happen, or neither. Returns the id of the order. */
export async function placeOrder(pgque: Pgque, item: string): Promise<string> {
  const client = await pgque.pool.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query("insert into public.orders (item) values ($1) returning id", [item]);
    await pgque.inTransaction(client).send(placed, { orderId: rows[0].id });
    await client.query("commit");
    client.release();
    return rows[0].id;
  } catch (error) {
    // closed rather than returned to the pool: the server rolls back what was open
    client.release(true);
    throw error;
  }
}

/** Writes a receipt for each order. It commits with the ack, so that each order has exactly one. */
export function receiptWorker(pgque: Pgque): Worker {
  return new Worker(
    pgque,
    placed,
    async ({ payload }, { tx }) => {
      await tx.query("insert into public.receipts (order_id) values ($1)", [payload.orderId]);
    },
    { transactional: true },
  );
}
