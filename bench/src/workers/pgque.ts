import { defineQueue, Pgque } from "@pgque/client";
import { Worker, type WorkerOptions } from "@pgque/worker";
import { consumerName, createQueue, queue as queueName } from "../systems/pgque.ts";
import type { Numbered } from "./message.ts";
import { storeIn, warm } from "./pg-store.ts";
import type { Described, Handle, OpenWorker, Place, Store, WorkerSystem } from "./worker.ts";

const queue = defineQueue(queueName);

/** What `pgque worker` opens: four for the worker, and those of the senders. */
const connections = 10;

export function pgqueWorker(described: Described, options: WorkerOptions): WorkerSystem {
  return { ...described, makeStore, connect: (url, handle) => connect(url, handle, options) };
}

function makeStore(place: Place): Promise<Store> {
  return storeIn(place, async ({ store, pool }) => {
    await createQueue(store.admin, {});
    const pgque = new Pgque(pool);
    await pgque.subscribe(queue, consumerName);
    return {
      ...store,
      send: (messages) => pgque.sendMany(queue, messages),
      async unsettled() {
        const [consumer] = await pgque.consumers.list(queue);
        if (consumer === undefined) throw new Error(`expected consumer ${consumerName}, found none`);
        return consumer.depth + consumer.inFlight;
      },
    };
  });
}

async function connect(url: string, handle: Handle, options: WorkerOptions): Promise<OpenWorker> {
  const pgque = new Pgque({ connectionString: url, max: connections }, { prepare: true });
  await warm(pgque.pool, 4);
  const own: WorkerOptions = { consumer: consumerName, ...options };
  const worker = new Worker(pgque, queue, ({ payload }) => handle(payload as Numbered), own);
  return {
    start: () => worker.start(),
    send: (message) => pgque.send(queue, message),
    async stop() {
      await worker.stop();
      await pgque.close();
    },
  };
}
