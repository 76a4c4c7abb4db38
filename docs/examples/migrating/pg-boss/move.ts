import { Pgque, type Queue } from "@pgque/client";
import type { PoolClient } from "pg";
import { carried } from "../moved.ts";
import { bookings, digests, mails } from "../queues.ts";

interface Job {
  id: string;
  name: string;
  data: never; // checked by the schema of its queue
  priority: number;
  runAt: Date;
  attemptsLeft: number;
  key: string | null;
  dedupeKey: string | null;
}

interface Schedule {
  name: string;
  key: string;
  kind: "cron" | "rrule";
  cron: string;
  timezone: string | null;
  data: never;
  missed: "skip" | "once" | null;
}

const queues = { mails, bookings, digests };
const pgque = new Pgque(process.env["DATABASE_URL"]);
for (const queue of Object.values(queues)) await pgque.ensure(queue);

const client = await pgque.pool.connect();
try {
  await client.query("begin");
  const jobs = await takeJobs(client);
  for (const job of jobs) await send(job);
  const schedules = await takeSchedules(client);
  for (const schedule of schedules) await set(schedule);
  await client.query("commit");
  console.log("moved", jobs.length, "and", schedules.length, "schedules");
} catch (error) {
  await client.query("rollback");
  throw error;
} finally {
  client.release();
  await pgque.close();
}

/**
 * Takes every job out that no worker has and that is in no flow: a job that waits for one that was taken would wait forever. What is active is done by
 * its worker, what has failed for good stays.
 */
async function takeJobs(client: PoolClient): Promise<Job[]> {
  const { rows } = await client.query<Job>(
    `with free as (
       select name, id from pgboss.job
       where name = any($1) and state in ('created', 'retry') and not blocked and not blocking
       for update skip locked
     ), taken as (
       delete from pgboss.job using free where job.name = free.name and job.id = free.id returning job.*
     )
     select id, name, data, priority, start_after as "runAt", singleton_key as key,
            retry_limit + 1 - case when started_on is null then 0 else retry_count + 1 end as "attemptsLeft",
            case when singleton_on is not null and latest then singleton_key end as "dedupeKey"
     from (
       select *, row_number() over (partition by name, singleton_key order by singleton_on desc) = 1 as latest from taken
     ) job
     order by priority desc, created_on, id`,
    [Object.keys(queues)],
  );
  return rows;
}

async function send({ id, name, data, priority, key, ...job }: Job): Promise<void> {
  const tx = pgque.inTransaction(client);
  const options = carried({ from: `pg-boss ${id}`, ...job });
  if (name === "mails") await tx.send(mails, data, { ...options, priority: Math.min(9, Math.max(0, priority)) });
  // a queue of policy key_strict_fifo: its singleton keys say what is in order
  else if (name === "bookings") await tx.send(bookings, data, { ...options, ...(key !== null && { key }) });
  else await tx.send(digests, data, options);
}

async function takeSchedules(client: PoolClient): Promise<Schedule[]> {
  const { rows } = await client.query<Schedule>(
    `delete from pgboss.schedule where name = any($1)
     returning name, key, kind, cron, timezone, data, options ->> 'missed' as missed`,
    [Object.keys(queues)],
  );
  return rows;
}

async function set({ name, key, kind, cron, timezone, data, missed }: Schedule): Promise<void> {
  if (kind !== "cron")
    throw new Error(`expected cron schedules, found an rrule of ${name}: set a cron schedule for it`);
  const queue: Queue = queues[name as keyof typeof queues];
  const options = { timeZone: timezone ?? "UTC", catchUp: missed ?? "skip" } as const;
  await pgque.on(client).schedules.set(key === "" ? name : `${name} ${key}`, queue, cron, data, options);
}
