import { once } from "node:events";
import { run } from "graphile-worker";
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
const connectionString = process.env["DATABASE_URL"] ?? "";
const pool = new Pool({ connectionString });

const runner = await run({
  connectionString,
  concurrency: 5,
  noHandleSignals: true,
  taskList: {
    mail: (payload) => {
      const { to, subject } = payload as Mail;
      if (!to.includes("@")) throw new Error(`no such address: ${to}`);
      console.log("mail", to, subject);
    },
    book: (payload) => {
      const { account, cents } = payload as Booking;
      console.log("book", account, cents);
    },
    digest: (payload) => console.log("digest", (payload as { kind: string }).kind),
  },
  crontab: '0 6 * * * digest ?id=digests {"kind": "daily"}',
});

await placeOrder(1, "ada@example.org", 500);
await terminated;
await runner.stop();
await pool.end();

async function placeOrder(orderId: number, account: string, cents: number): Promise<void> {
  const client = await pool.connect();
  const addJob = "select graphile_worker.add_job($1, $2::json,";
  try {
    await client.query("begin");
    await client.query("insert into public.orders values ($1, $2, $3)", [orderId, account, cents]);
    const confirmation = JSON.stringify({ to: account, subject: `order ${orderId}` });
    await client.query(`${addJob} priority := -5)`, ["mail", confirmation]);
    const reminder = JSON.stringify({ to: account, subject: `how was order ${orderId}?` });
    await client.query(`${addJob} run_at := now() + interval '3 days', job_key := $3, priority := 5)`, [
      "mail",
      reminder,
      `reminder ${orderId}`,
    ]);
    await client.query(`${addJob} queue_name := $3)`, ["book", JSON.stringify({ account, cents }), account]);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}
