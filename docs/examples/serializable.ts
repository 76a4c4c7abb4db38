import { Pgque, defineQueue, type Batch } from "@pgque/client";
import { Pool } from "pg";

const orders = defineQueue("orders");
const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
const pgque = new Pgque(pool);
await pool.query("create table if not exists bill (order_id int not null)");
await pgque.ensure(orders);
await pgque.subscribe(orders);
await pgque.sendMany(
  orders,
  Array.from({ length: 400 }, (_, orderId) => ({ orderId })),
);

let again = 0;

// the transaction is run again, not the receive: the lease of the batch is still held
async function bill({ id, messages }: Batch): Promise<void> {
  const client = await pool.connect();
  try {
    for (;;) {
      try {
        await client.query("begin isolation level serializable");
        for (const { payload } of messages)
          await client.query("insert into bill values ($1)", [(payload as { orderId: number }).orderId]);
        await pgque.inTransaction(client).ackStrict(id!);
        await client.query("commit");
        return;
      } catch (error) {
        await client.query("rollback");
        if ((error as { code?: string }).code !== "40001") throw error;
        again += 1;
      }
    }
  } finally {
    client.release();
  }
}

async function work(): Promise<number> {
  for (let batches = 0; ; batches += 1) {
    const batch = await pgque.receive(orders, { max: 4 });
    if (batch.id === null) return batches;
    await bill(batch);
  }
}

const batches = (await Promise.all([work(), work(), work(), work()])).reduce((sum, of) => sum + of, 0);
const { rows } = await pool.query("select count(*)::int as bills, count(distinct order_id)::int as orders from bill");
console.log(
  `${rows[0].bills} bills of ${rows[0].orders} orders in ${batches} batches, ${again} transactions run again`,
);
await pool.end();
