import { dueOf } from "../load/payload.ts";
import { peer } from "../senders/peer.ts";
import { Failure } from "../failure.ts";
import { pulled } from "./pulled.ts";
import type { System } from "./system.ts";
import { tunedSetting, tuneAutovacuum } from "./tuned.ts";

const queue = "bench";

export const pgBoss: System = {
  name: "pg-boss",
  summary:
    "pg-boss 12: send or insert, fetch, which marks rows picked with FOR UPDATE SKIP LOCKED by UPDATE, and complete, which is another UPDATE; what is completed stays for seven days",
  settings: [
    "fetch and complete, its functions for a loop of one's own: a worker of `work` polls every half second at most, and here is always more",
    "one instance, as its documentation advises for a process, with a connection for every producer and consumer and two for its maintenance",
    "supervise on, its default: its maintenance runs beside the load, as in a service; schedule off: nothing is scheduled",
    "a queue with its defaults: policy standard, two retries, in the table that queues share",
    tunedSetting,
  ],
  schema: "pgboss",
  segments: null,
  async open(workload) {
    const { admin, url, producers, consumers, batch, tally } = workload;
    const { PgBoss } = await peer(["pg-boss@12.35"], () => import("pg-boss"));
    const failure = new Failure();
    const boss = new PgBoss({ connectionString: url, max: producers + consumers + 2, schedule: false });
    boss.on("error", failure.note);
    const close = (): Promise<void> => boss.stop({ graceful: false });
    try {
      await boss.start();
      await boss.createQueue(queue);
      await tuneAutovacuum(admin, "pgboss");
    } catch (error) {
      await close();
      throw error;
    }
    const running = await pulled(
      workload,
      async () => async (payloads) => {
        const jobs = payloads.map((payload) => ({ data: JSON.parse(payload) as object }));
        if (jobs.length === 1) await boss.send(queue, jobs[0]?.data);
        else await boss.insert(queue, jobs);
      },
      async () => async () => {
        const jobs = await boss.fetch(queue, { batchSize: batch });
        for (const { data } of jobs) tally.received(dueOf(data));
        if (jobs.length > 0)
          await boss.complete(
            queue,
            jobs.map(({ id }) => id),
          );
        tally.finished(jobs.length);
        return jobs.length;
      },
    );
    return { ...running, maintain: failure.check, close };
  },
};
