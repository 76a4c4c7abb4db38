import { Injectable } from "@nestjs/common";
import { Pgque } from "@pgque/client";
import { placed } from "./queues.js";

@Injectable()
export class OrdersService {
  constructor(private readonly pgque: Pgque) {}

  /** Stores an order and announces it: both happen, or neither. Returns the id of the order. */
  async place(item: string): Promise<string> {
    const client = await this.pgque.pool.connect();
    try {
      await client.query("begin");
      const { rows } = await client.query("insert into public.orders (item) values ($1) returning id", [item]);
      await this.pgque.inTransaction(client).send(placed, { orderId: rows[0].id });
      await client.query("commit");
      client.release();
      return rows[0].id;
    } catch (error) {
      // closed rather than returned to the pool: the server rolls back what was open
      client.release(true);
      throw error;
    }
  }
}
