import { Pgque, defineQueue, type Executor } from "@pgque/client";
import knexOf, { type Knex } from "knex";

const placed = defineQueue("orders placed");
await using pgque = new Pgque(process.env["DATABASE_URL"]);
const knex = knexOf({ client: "pg", connection: process.env["DATABASE_URL"] ?? "" });

const executor = (trx: Knex.Transaction): Executor => ({
  query: ({ text, values = [] }) => trx.raw(text.replaceAll(/\$\d+/g, "?"), values as Knex.Value[]),
});

await knex.transaction(async (trx) => {
  const [order] = await trx("orders").insert({ item: "tea" }).returning("id");
  await pgque.using(executor(trx)).send(placed, { orderId: order.id });
});
await knex.destroy();
