import { Pgque } from "@pgque/client";
import { placed } from "./queues.ts";

// one pool for a process: `next dev` evaluates modules again when they change, and leaves the global object
// (`next build` evaluates them without the variable: nothing connects before the first request)
const shared = globalThis as { pgque?: Pgque };
const pgque = (shared.pgque ??= new Pgque(process.env["DATABASE_URL"] ?? {}));

/** Stores an order and announces it: both happen, or neither. Returns the id of the order. */
export async function placeOrder(item: string): Promise<string> {
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
