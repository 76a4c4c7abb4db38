import { Pgque, type Queue as PgqueQueue } from "@pgque/client";
import { Queue, type Job } from "bullmq";
import { carried } from "../moved.ts";
import { bookings, digests, mails } from "../queues.ts";

const queues: Record<string, PgqueQueue> = { mails, bookings, digests };
const connection = { url: process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379" };

const pgque = new Pgque(process.env["DATABASE_URL"]);
for (const queue of Object.values(queues)) await pgque.ensure(queue);
// what was stored, and perhaps not yet removed from Redis; to be dropped in the end
await pgque.pool.query("create table if not exists public.moved_from_bullmq (job text primary key)");

const old = Object.keys(queues).map((name) => new Queue(name, { connection }));
const moved = { jobs: 0, schedules: 0, active: 0 };
try {
  // from now on no worker takes a job; those that have one finish it
  for (const queue of old) await queue.pause();
  for (const queue of old) {
    const jobs = await takeable(queue);
    moved.jobs += await store(queue, jobs);
    // after a crash here the next move does not store them again, and removes them
    for (const job of jobs) await job.remove();
    moved.schedules += await moveSchedules(queue);
    moved.active += await queue.getActiveCount();
  }
} finally {
  await Promise.all(old.map((queue) => queue.close()));
  await pgque.close();
}
console.log(moved);

/** What waits or is delayed, but for the next jobs of schedulers. What has failed for good stays. */
async function takeable(queue: Queue): Promise<Job[]> {
  const parents = await queue.getWaitingChildrenCount();
  if (parents > 0) throw new Error(`expected no flows in ${queue.name}, found ${parents}: let them finish first`);
  const jobs: Job[] = [];
  for (const state of ["wait", "prioritized", "delayed"] as const)
    jobs.push(...(await queue.getJobs(state, 0, -1, true)));
  return jobs.filter((job) => job.repeatJobKey === undefined);
}

/** Stores in one transaction what has not been stored before, and returns how many that were. */
async function store(queue: Queue, jobs: Job[]): Promise<number> {
  const client = await pgque.pool.connect();
  const insert = "insert into public.moved_from_bullmq values ($1) on conflict do nothing";
  let stored = 0;
  try {
    await client.query("begin");
    for (const job of jobs) {
      const { rowCount } = await client.query(insert, [`${queue.name} ${job.id}`]);
      if (rowCount === 0) continue;
      // of several jobs of one id the key is the last one's
      const id = job.deduplicationId;
      const hasKey = id !== undefined && (await queue.getDeduplicationJobId(id)) === job.id;
      await send(pgque.inTransaction(client), job, hasKey ? id : null);
      stored += 1;
    }
    await client.query("commit");
    return stored;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

async function send(tx: ReturnType<typeof pgque.inTransaction>, job: Job, dedupeKey: string | null): Promise<void> {
  const options = carried({
    from: `bullmq ${job.id}`,
    // the delay is counted from when it was added; of a retry, from its last attempt
    runAt: new Date((job.attemptsMade > 0 ? (job.processedOn ?? job.timestamp) : job.timestamp) + job.delay),
    attemptsLeft: Math.max(1, (job.opts.attempts ?? 1) - job.attemptsMade),
    dedupeKey,
  });
  // there 0 comes first, then 1, 2, …; here 9, then 8, 7, …
  if (job.queueName === "mails")
    await tx.send(mails, job.data, { ...options, priority: Math.max(0, 9 - job.priority) });
  else if (job.queueName === "bookings") await tx.send(bookings, job.data, { ...options, key: job.data.account });
  else await tx.send(digests, job.data, options);
}

async function moveSchedules(queue: Queue): Promise<number> {
  const schedulers = await queue.getJobSchedulers();
  for (const { key, pattern, tz, template } of schedulers) {
    if (pattern === undefined)
      throw new Error(`expected a pattern of ${key}, found \`every\`: set a cron schedule for it`);
    await pgque.schedules.set(key, queues[queue.name] ?? queue.name, pattern, template?.data ?? {}, {
      timeZone: tz ?? "UTC",
      catchUp: "skip",
    });
    await queue.removeJobScheduler(key);
  }
  return schedulers.length;
}
