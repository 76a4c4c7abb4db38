import { Pgque, defineQueue } from "@pgque/client";
import { Pool } from "pg";

const placed = defineQueue("orders placed");
const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
const pgque = new Pgque(pool);
await pgque.ensure(placed); // creates the queue unless it is there

const client = await pool.connect();
try {
  await client.query("begin");
  const { rows } = await client.query("insert into orders (item) values ($1) returning id", ["tea"]);
  await pgque.inTransaction(client).send(placed, { orderId: rows[0].id });
  await client.query("commit");
} catch (error) {
  await client.query("rollback");
  throw error;
} finally {
  client.release();
}
await pool.end();
