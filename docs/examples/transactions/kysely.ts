import { Pgque, defineQueue } from "@pgque/client";
import { type Generated, Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";

const placed = defineQueue("orders placed");
const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
const pgque = new Pgque(pool);
const db = new Kysely<{ orders: { id: Generated<number>; item: string } }>({ dialect: new PostgresDialect({ pool }) });
await pgque.ensure(placed); // creates the queue unless it is there

await db.transaction().execute(async (tx) => {
  const order = await tx.insertInto("orders").values({ item: "tea" }).returning("id").executeTakeFirstOrThrow();
  await pgque.inTransaction(tx).send(placed, { orderId: order.id });
});
await db.destroy(); // ends the pool
