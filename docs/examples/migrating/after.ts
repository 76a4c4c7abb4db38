import { once } from "node:events";
import { Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { bookings, digests, mails } from "./queues.ts";

const terminated = once(process, "SIGTERM");
const pgque = new Pgque(process.env["DATABASE_URL"]);

const mailer = new Worker(
  pgque,
  mails,
  ({ payload }) => {
    if (!payload.to.includes("@")) throw new Error(`no such address: ${payload.to}`);
    console.log("mail", payload.to, payload.subject);
  },
  { concurrency: 5 },
);
const bookkeeper = new Worker(pgque, bookings, ({ payload }) => console.log("book", payload.account, payload.cents), {
  mode: "ordered",
  concurrency: 5,
});
const reporter = new Worker(pgque, digests, ({ payload }) => console.log("digest", payload.kind), {
  schedules: { digests: { cron: "0 6 * * *", payload: { kind: "daily" } } },
});
await Promise.all([mailer, bookkeeper, reporter].map((worker) => worker.start()));

await placeOrder(3, "ada@example.org", 990);
await terminated;
await Promise.all([mailer, bookkeeper, reporter].map((worker) => worker.stop()));
await pgque.close();

async function placeOrder(orderId: number, account: string, cents: number): Promise<void> {
  const client = await pgque.pool.connect();
  try {
    await client.query("begin");
    await client.query("insert into public.orders values ($1, $2, $3)", [orderId, account, cents]);
    const tx = pgque.inTransaction(client);
    await tx.send(mails, { to: account, subject: `order ${orderId}` }, { priority: 9 });
    await tx.send(
      mails,
      { to: account, subject: `how was order ${orderId}?` },
      { delayMs: 3 * 86_400_000, dedupeKey: `reminder ${orderId}`, dedupeTtlMs: 4 * 86_400_000 },
    );
    await tx.send(bookings, { account, cents }, { key: account });
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}
