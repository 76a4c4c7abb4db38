import { once } from "node:events";
import { Queue, Worker } from "bullmq";
import { Pool } from "pg";

interface Mail {
  to: string;
  subject: string;
}
interface Booking {
  account: string;
  cents: number;
}

const terminated = once(process, "SIGTERM");
const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
const connection = { url: process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379" };
const defaultJobOptions = { attempts: 5, backoff: { type: "exponential", delay: 1000 }, removeOnComplete: true };

const mails = new Queue<Mail>("mails", { connection, defaultJobOptions });
const bookings = new Queue<Booking>("bookings", { connection, defaultJobOptions });
const digests = new Queue("digests", { connection, defaultJobOptions });

const mailer = new Worker<Mail>(
  "mails",
  async ({ data }) => {
    if (!data.to.includes("@")) throw new Error(`no such address: ${data.to}`);
    console.log("mail", data.to, data.subject);
  },
  { connection, concurrency: 5 },
);
// one after the other, of all accounts
await bookings.setGlobalConcurrency(1);
const bookkeeper = new Worker<Booking>("bookings", async ({ data }) => console.log("book", data.account, data.cents), {
  connection,
});
const reporter = new Worker("digests", async ({ data }) => console.log("digest", data.kind), { connection });
await digests.upsertJobScheduler("digests", { pattern: "0 6 * * *", tz: "UTC" }, { data: { kind: "daily" } });

await placeOrder(1, "ada@example.org", 500);
await terminated;
await Promise.all([mailer, bookkeeper, reporter, mails, bookings, digests].map((part) => part.close()));
await pool.end();

async function placeOrder(orderId: number, account: string, cents: number): Promise<void> {
  await pool.query("insert into public.orders values ($1, $2, $3)", [orderId, account, cents]);
  // a crash here, and the order has no mails and is in no book
  await mails.add("mail", { to: account, subject: `order ${orderId}` });
  await mails.add(
    "mail",
    { to: account, subject: `how was order ${orderId}?` },
    { delay: 3 * 86_400_000, priority: 9, deduplication: { id: `reminder ${orderId}` } },
  );
  await bookings.add("book", { account, cents });
}
