import type { ConstructorOptions, PgBoss, WorkOptions } from "pg-boss";
import type { Adapter, Described, Handle, OpenWorker, Place, Store, System, WorkerSystem } from "./adapter.ts";
import { peer } from "./support/library.ts";
import { rowsIn, storeIn } from "./support/pg-store.ts";
import { pulled, tunedSetting, tuneAutovacuum } from "./support/table.ts";
import { closing, Failure, unheard } from "../runner/failure.ts";
import { type Numbered, dueOf } from "../load/messages.ts";
import { ratio } from "../report/format.ts";
import { atLeast } from "../runner/target.ts";

const queue = "bench";

/** Its schema in a database, or an instance beside others on the one that is there. */
async function openBoss(options: ConstructorOptions, failed: (error: Error) => void = unheard): Promise<PgBoss> {
  const { PgBoss } = await peer(["pg-boss@12.35"], () => import("pg-boss"));
  const boss = new PgBoss({ schedule: false, ...options });
  // without a listener a failure would end the process
  boss.on("error", failed);
  return boss.start();
}

const insert = (boss: PgBoss, messages: readonly object[]) =>
  boss.insert(
    queue,
    messages.map((data) => ({ data })),
  );

function makeStore(place: Place): Promise<Store> {
  return storeIn(place, async ({ store }) => {
    // the workers' instances maintain it
    const boss = await openBoss({ connectionString: store.url, max: 1, supervise: false });
    await boss.createQueue(queue);
    return {
      ...store,
      send: (messages) => insert(boss, messages),
      unsettled: () => rowsIn(store.admin, "pgboss.job where state < 'completed'"),
      close: closing(() => boss.stop({ graceful: false }), store.close),
    };
  });
}

function worker(described: Described, settings: WorkOptions): WorkerSystem {
  return {
    ...described,
    makeStore,
    connect: (url, handle, workers = settings.localConcurrency ?? 1) =>
      connect(url, handle, { ...settings, localConcurrency: workers }, workers),
  };
}

async function connect(url: string, handle: Handle, settings: WorkOptions, workers: number): Promise<OpenWorker> {
  const boss = await openBoss({ connectionString: url, max: Math.min(50, workers + 2) });
  return {
    async start() {
      await boss.work<Numbered>(queue, settings, async (jobs) => {
        for (const { data } of jobs) await handle(data);
      });
    },
    send: (message) => boss.send(queue, message),
    stop: () => boss.stop({ graceful: true }),
  };
}

const underLoad: System = {
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
    const failure = new Failure();
    const boss = await openBoss({ connectionString: url, max: producers + consumers + 2 }, failure.note);
    const close = (): Promise<void> => boss.stop({ graceful: false });
    try {
      await boss.createQueue(queue);
      await tuneAutovacuum(admin, "pgboss");
    } catch (error) {
      await close();
      throw error;
    }
    const running = await pulled(
      workload,
      async () => async (payloads) => {
        const [first, ...others] = payloads.map((payload) => JSON.parse(payload) as object);
        if (others.length === 0) await boss.send(queue, first);
        else if (first) await insert(boss, [first, ...others]);
      },
      async () => async () => {
        const jobs = await boss.fetch(queue, { batchSize: batch });
        for (const { data } of jobs) tally.received(dueOf(data));
        const ids = jobs.map(({ id }) => id);
        if (ids.length > 0) await boss.complete(queue, ids);
        tally.finished(jobs.length);
        return jobs.length;
      },
    );
    return { ...running, maintain: failure.check, close };
  },
};

export const adapter: Adapter = {
  load: [underLoad],
  drain: [
    worker(
      {
        name: "pg-boss",
        summary: "pg-boss 12 with `work` in batches, as its documentation has it for many short jobs",
        settings: [
          "batchSize 1000: jobs are fetched, handled and completed so many at a time",
          "burstWhenBatchFull: while batches come back full there is no wait between two fetches",
          "localConcurrency 2, so that one loop's handler and another's fetch are under way at the same time",
          "supervise on, its default; schedule off: nothing is scheduled",
        ],
        target: atLeast(8, ratio),
      },
      { batchSize: 1000, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5, localConcurrency: 2 },
    ),
  ],
  rates: [
    worker(
      {
        name: "pg-boss",
        summary: "`send` of pg-boss 12, and `work`, which polls",
        settings: [
          "as many workers are its localConcurrency; batchSize 20, the batch of the others",
          "pollingIntervalSeconds 0.5, the least that it takes; burstWhenBatchFull; supervise on, its default",
        ],
      },
      { batchSize: 20, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
    ),
  ],
};
