import type { ConstructorOptions, PgBoss, WorkOptions } from "pg-boss";
import { peer } from "../senders/peer.ts";
import { unheard } from "../failure.ts";
import type { Numbered } from "./message.ts";
import { storeIn } from "./pg-store.ts";
import type { Described, Handle, OpenWorker, Place, Store, WorkerSystem } from "./worker.ts";

const queue = "bench";

export function pgBossWorker(described: Described, settings: WorkOptions): WorkerSystem {
  return { ...described, makeStore, connect: (url, handle) => connectBoss(url, handle, settings) };
}

/** Its schema in a database, or an instance beside others on the one that is there. */
async function openBoss(options: ConstructorOptions): Promise<PgBoss> {
  const { PgBoss } = await peer(["pg-boss@12.35"], () => import("pg-boss"));
  const boss = new PgBoss({ schedule: false, ...options });
  // a failure shows in what is not handled; without a listener it would end the process
  boss.on("error", unheard);
  return boss.start();
}

function makeStore(place: Place): Promise<Store> {
  return storeIn(place, async ({ store }) => {
    // the workers' instances maintain it
    const boss = await openBoss({ connectionString: store.url, max: 1, supervise: false });
    await boss.createQueue(queue);
    return {
      ...store,
      send: (messages) =>
        boss.insert(
          queue,
          messages.map((data) => ({ data })),
        ),
      async unsettled() {
        const { rows } = await store.admin.query<{ jobs: string }>(
          "select count(*) as jobs from pgboss.job where state < 'completed'",
        );
        return Number(rows[0]?.jobs);
      },
      async close() {
        await boss.stop({ graceful: false });
        await store.close();
      },
    };
  });
}

async function connectBoss(url: string, handle: Handle, settings: WorkOptions): Promise<OpenWorker> {
  const boss = await openBoss({ connectionString: url, max: (settings.localConcurrency ?? 1) + 2 });
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
