import type { Pgque } from "@pgque/client";
import type { Pool } from "pg";
import { placed } from "./queues.ts";

/**
 * Stores an order, announces it and takes it out of stock, in one transaction. Returns the id of the order, or null when nothing is left: then
 * nothing was stored, and nothing sent.
 */
export async function placeOrder(pool: Pool, pgque: Pgque, item: string): Promise<string | null> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query("insert into public.orders (item) values ($1) returning id", [item]);
    await pgque.inTransaction(client).send(placed, { orderId: rows[0].id });
    // fails below zero, when the message has been sent already: the rollback takes it back
    await client.query("update public.stock set quantity = quantity - 1 where item = $1", [item]);
    await client.query("commit");
    client.release();
    return rows[0].id;
  } catch (error) {
    // closed rather than returned to the pool: the server rolls back what was open
    client.release(true);
    if (isConstraintViolation(error)) return null;
    throw error;
  }
}

/** Nothing left of it (check), or no such item (foreign key). */
function isConstraintViolation(error: unknown): boolean {
  return ["23514", "23503"].includes(String(Object(error).code));
}
