import { Pgque, defineQueue } from "@pgque/client";
import { runUntilSignal, Worker } from "@pgque/worker";
import { z } from "zod";

const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });
const pgque = new Pgque(process.env["DATABASE_URL"]);

await pgque.ensure(orders); // creates the queue unless it is there
await pgque.send(orders, { orderId: 42 }); // typed, and checked against the schema

const client = await pgque.pool.connect(); // in a transaction of your own:
await client.query("begin");
await pgque.inTransaction(client).send(orders, { orderId: 43 }); // sent if and only if it commits
await client.query("commit");
client.release();

const worker = new Worker(pgque, orders, async (message) => {
  console.log("charged", message.payload.orderId); // a number, by type; an error here means: try again later
});
await runUntilSignal([worker], pgque); // until Ctrl-C or SIGTERM: running handlers finish, the rest is released
