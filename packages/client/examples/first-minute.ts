import { Pgque, defineQueue } from "@pgque/client";
import { z } from "zod";

const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });

const pgque = new Pgque(process.env["DATABASE_URL"]); // or an existing pg.Pool
await pgque.ensure(orders); // creates the queue unless it is there
await pgque.subscribe(orders, "billing"); // a reader of its own; a worker's start does it too

await pgque.send(orders, { orderId: 42 }); // typed and validated

const tx = await pgque.pool.connect(); // the application's own transaction
try {
  await tx.query("begin");
  await tx.query("create table if not exists shop_order (id int)");
  await tx.query("insert into shop_order values (43)");
  await pgque.inTransaction(tx).send(orders, { orderId: 43 }); // sent if and only if it commits
  await tx.query("commit");
} catch (error) {
  await tx.query("rollback");
  throw error;
} finally {
  tx.release();
}

const batch = await pgque.receive(orders, { consumer: "billing" }); // leased for 30 s
for (const message of batch.messages) {
  process.stdout.write(`charging order ${message.payload.orderId}\n`); // a number, by type
}
await batch.ack(); // without it they are delivered again
await pgque.close();
