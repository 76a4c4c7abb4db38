import { Pgque, defineQueue } from "@pgque/client";
import knexOf from "knex";

const placed = defineQueue("orders placed");
const pgque = new Pgque(process.env["DATABASE_URL"]);
const knex = knexOf({ client: "pg", connection: process.env["DATABASE_URL"] ?? "" });
await pgque.ensure(placed); // creates the queue unless it is there

await knex.transaction(async (trx) => {
  const [order] = await trx("orders").insert({ item: "tea" }).returning("id");
  await pgque.inTransaction(trx).send(placed, { orderId: order.id });
});
await knex.destroy();
await pgque.close();
