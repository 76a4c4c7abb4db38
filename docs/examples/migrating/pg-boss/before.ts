import { once } from "node:events";
import { Pool } from "pg";
import { PgBoss } from "pg-boss";

const terminated = once(process, "SIGTERM");
const connectionString = process.env["DATABASE_URL"] ?? "";
const pool = new Pool({ connectionString });
const boss = new PgBoss(connectionString);
boss.on("error", console.error);
await boss.start();

await boss.createQueue("mails", { retryLimit: 4, retryBackoff: true });
await boss.createQueue("bookings", { policy: "key_strict_fifo" });
await boss.createQueue("digests");

await boss.work<{ to: string; subject: string }>("mails", { localConcurrency: 5 }, async ([job]) => {
  if (!job?.data.to.includes("@")) throw new Error(`no such address: ${job?.data.to}`);
  console.log("mail", job.data.to, job.data.subject);
});
await boss.work<{ account: string; cents: number }>("bookings", { localConcurrency: 5 }, async ([job]) => {
  console.log("book", job?.data.account, job?.data.cents);
});
await boss.work<{ kind: string }>("digests", async ([job]) => console.log("digest", job?.data.kind));
await boss.schedule("digests", "0 6 * * *", { kind: "daily" });

await placeOrder(1, "ada@example.org", 500);
await terminated;
await boss.stop();
await pool.end();

async function placeOrder(orderId: number, account: string, cents: number): Promise<void> {
  const client = await pool.connect();
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
  try {
    await client.query("begin");
    await client.query("insert into public.orders values ($1, $2, $3)", [orderId, account, cents]);
    await boss.send("mails", { to: account, subject: `order ${orderId}` }, { db, priority: 9 });
    await boss.send(
      "mails",
      { to: account, subject: `how was order ${orderId}?` },
      { db, startAfter: 3 * 86_400, singletonKey: `reminder ${orderId}`, singletonSeconds: 4 * 86_400 },
    );
    await boss.send("bookings", { account, cents }, { db, singletonKey: account });
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}
