import { Pgque, defineQueue } from "@pgque/client";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { Pool } from "pg";

const orders = pgTable("orders", { id: integer().primaryKey().generatedAlwaysAsIdentity(), item: text().notNull() });
const placed = defineQueue("orders placed");
const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
const pgque = new Pgque(pool);
const db = drizzle(pool); // or over postgres.js, or another driver
await pgque.ensure(placed); // creates the queue unless it is there

await db.transaction(async (tx) => {
  const [order] = await tx.insert(orders).values({ item: "tea" }).returning();
  await pgque.inTransaction(tx).send(placed, { orderId: order?.id });
});
await pool.end();
