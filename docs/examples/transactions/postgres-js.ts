import { Pgque, defineQueue } from "@pgque/client";
import postgres from "postgres";

const placed = defineQueue("orders placed");
const pgque = new Pgque(process.env["DATABASE_URL"]);
const sql = postgres(process.env["DATABASE_URL"] ?? "");
await pgque.ensure(placed); // creates the queue unless it is there

await sql.begin(async (tx) => {
  const [order] = await tx`insert into orders (item) values ('tea') returning id`;
  await pgque.inTransaction(tx).send(placed, { orderId: order?.["id"] });
});
await sql.end();
await pgque.close();
