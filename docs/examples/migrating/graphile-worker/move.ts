import { Pgque } from "@pgque/client";
import type { PoolClient } from "pg";
import { carried } from "../moved.ts";
import { bookings, digests, mails } from "../queues.ts";

interface Job {
  id: string;
  task: string;
  queue: string | null;
  payload: never; // checked by the schema of its queue
  priority: number;
  runAt: Date;
  attemptsLeft: number;
  dedupeKey: string | null;
}

const pgque = new Pgque(process.env["DATABASE_URL"]);
for (const queue of [mails, bookings, digests]) await pgque.ensure(queue);

const client = await pgque.pool.connect();
try {
  await client.query("begin");
  const jobs = await take(client);
  for (const job of jobs) await send(job);
  await client.query("commit");
  console.log("moved", jobs.length);
} catch (error) {
  await client.query("rollback");
  throw error;
} finally {
  client.release();
  await pgque.close();
}

/** Takes every job out that no worker has: what is locked is done by its worker, what has failed for good stays. */
async function take(client: PoolClient): Promise<Job[]> {
  // row security hides the jobs from all but the owner of the tables: others get an error rather than "moved 0"
  await client.query("set local row_security = off");
  const { rows: free } = await client.query<{ id: string }>(
    `select id from graphile_worker._private_jobs
     where locked_at is null and attempts < max_attempts
     for update skip locked`,
  );
  const { rows } = await client.query<Job>(
    `select job.id, job.task_identifier as task, job.queue_name as queue, taken.payload, job.priority,
            job.run_at as "runAt", job.max_attempts - job.attempts as "attemptsLeft", job.key as "dedupeKey"
     from graphile_worker.complete_jobs($1) taken
     join graphile_worker.jobs job using (id)
     order by job.priority, job.run_at, job.id`,
    [free.map(({ id }) => id)],
  );
  return rows;
}

async function send({ id, task, queue, payload, priority, ...job }: Job): Promise<void> {
  const tx = pgque.inTransaction(client);
  const options = carried({ from: `graphile-worker ${id}`, ...job });
  // there lower numbers come first, here higher ones, 0 to 9
  if (task === "mail") await tx.send(mails, payload, { ...options, priority: Math.min(9, Math.max(0, 5 - priority)) });
  else if (task === "book") await tx.send(bookings, payload, { ...options, ...(queue !== null && { key: queue }) });
  else if (task === "digest") await tx.send(digests, payload, options);
  else throw new Error(`expected a task that has a queue, found job ${id} of ${task}: say where it goes, above`);
}
