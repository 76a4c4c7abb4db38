import { Pgque } from "@pgque/client";
import { Worker, type WorkerOptions } from "@pgque/worker";
import type {
  Adapter,
  Described,
  Handle,
  OpenWorker,
  Picker,
  PickSite,
  Place,
  Receive,
  Store,
  System,
  Work,
  WorkerSystem,
  Workload,
} from "./adapter.ts";
import { underLoad } from "./support/library.ts";
import { connectionsOf, storeIn, warm } from "./support/pg-store.ts";
import { consumerName, createQueue, prepareQueue, queue, typedQueue } from "./support/pgque-queue.ts";
import { pulled, receivingBy, sendingBy } from "./support/table.ts";
import { senders, sendingTo } from "./support/pgque-senders.ts";
import { Failure } from "../runner/failure.ts";
import type { Numbered } from "../load/messages.ts";
import { ms } from "../report/format.ts";
import { atMost } from "../runner/target.ts";

/** Pgque by its SQL functions alone, as a client in any language would call them. */
export const pgque: System = {
  name: "pgque",
  summary:
    "Pgque's SQL: send or send_batch, receive_messages, ack; rows are only ever inserted, and truncated by segment",
  settings: [
    "receives with synchronous_commit off, on a connection of their own, as @pgque/worker does: a lost receive is only redelivered",
    "maintain() about once a second on a connection of its own: what every worker process does",
    "autovacuum is off on segment tables: the schema's own choice, there is nothing to vacuum",
  ],
  schema: "pgque",
  segments: /^message_\d+_\d+$/,
  async open(workload) {
    await prepareQueue(workload);
    await workload.admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared"}')`, [queue, consumerName]);
    const running = await pulled(workload, producer(workload), consumer);
    const maintainer = await workload.connect("maintain");
    return {
      ...running,
      async maintain() {
        await maintainer.query({ name: "maintain", text: "select pgque.maintain()" });
      },
    };
  },
};

const producer = ({ sendBatch }: Workload): ReturnType<typeof sendingBy> =>
  sendBatch === 1
    ? sendingBy("select pgque.send($1, $2::text)", ([payload]) => [queue, payload])
    : sendingBy("select pgque.send_batch($1, $2::text[])", (payloads) => [queue, payloads]);

const receive = (batch: number) => ({
  text: "select batch_id::text, payload from pgque.receive_messages($1, $2, null, $3)",
  values: [queue, consumerName, batch],
});

const ack = (batch: string | undefined) => ({
  name: "ack",
  text: "select pgque.ack($1::bigint) as acked",
  values: [batch],
});

/** All that was received is one batch, whose id comes with each message. */
const consumer = (workload: Workload): Promise<Receive> =>
  receivingBy(workload, {
    receive: receive(workload.batch),
    async finish(client, ids) {
      const { rows } = await client.query<{ acked: number }>(ack(ids[0]));
      if (rows[0]?.acked !== 1) throw new Error(`batch ${ids[0]} could not be acked: its lease was lost`);
      return ids.length;
    },
  });

/** Pgque with its worker: leases, heartbeats, settling and maintenance as in a service. */
const underWorkers: System = {
  name: "pgque-worker",
  summary:
    "Pgque with @pgque/client and @pgque/worker: send or sendMany, handlers that do nothing, batches received and settled by workers",
  settings: [
    "a worker for each consumer, all on one pool of four connections a worker, which is what pgque worker opens, and one a producer",
    "concurrency and batch size are the run's batch size, prefetch twice that: the next batch comes while one is handled",
    "a message counts as finished when its handler returns; a batch is settled in one call after its last",
    "woken by NOTIFY when idle; would poll every 10 ms, as the harness does for the other systems, where that does not arrive",
  ],
  schema: "pgque",
  segments: /^message_\d+_\d+$/,
  async open(workload) {
    await prepareQueue(workload);
    const { consumers, producers, batch, idlePollMs, url } = workload;
    const max = 4 * consumers + producers;
    const pgque = new Pgque({ connectionString: url, max, application_name: "worker" });
    await pgque.subscribe(typedQueue, consumerName);
    const options: WorkerOptions = {
      consumer: consumerName,
      concurrency: batch,
      batchSize: batch,
      prefetch: 2 * batch,
      pollMinMs: idlePollMs,
      pollMaxMs: idlePollMs,
    };
    const open = async (handle: Handle) =>
      new Worker(pgque, typedQueue, ({ payload }) => handle(payload as Numbered) as undefined, options);
    return underLoad(workload, new Failure(), { send: sendingTo(pgque), close: () => pgque.close() }, open);
  },
};

function worker(described: Described, options: WorkerOptions): WorkerSystem {
  return { ...described, makeStore, connect: (url, handle, workers) => connect(url, handle, options, workers) };
}

function makeStore(place: Place): Promise<Store> {
  return storeIn(place, async ({ store, pool }) => {
    await createQueue(store.admin, {});
    const pgque = new Pgque(pool);
    await pgque.subscribe(typedQueue, consumerName);
    return {
      ...store,
      send: sendingTo(pgque),
      async unsettled() {
        const [consumer] = await pgque.consumers.list(typedQueue);
        if (consumer === undefined) throw new Error(`expected consumer ${consumerName}, found none`);
        return consumer.depth + consumer.inFlight;
      },
    };
  });
}

/** All workers on one pool: what `pgque worker` opens for each, up to a limit, and the connections of senders. */
async function connect(url: string, handle: Handle, options: WorkerOptions, workers = 1): Promise<OpenWorker> {
  const pgque = new Pgque({ connectionString: url, max: connectionsOf(workers) });
  await warm(pgque.pool, 4);
  const own: WorkerOptions = { consumer: consumerName, ...options };
  let receives = 0;
  const all = Array.from({ length: workers }, () =>
    new Worker(pgque, typedQueue, ({ payload }) => handle(payload as Numbered) as undefined, own).on("received", () => {
      receives += 1;
    }),
  );
  return {
    async start() {
      await Promise.all(all.map((worker) => worker.start()));
    },
    send: (message) => pgque.send(typedQueue, message),
    receives: () => receives,
    async stop() {
      await Promise.all(all.map((worker) => worker.stop()));
      await pgque.close();
    },
  };
}

/** Priorities that there are. */
const lanes = 10;

/** One message a receive, as the others pick, or many. */
function pgquePicker(batch: number): Pick<Picker, "prepare" | "worker"> {
  return {
    async prepare({ admin }, jobs) {
      await createQueue(admin, { priorities: lanes });
      await admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared"}')`, [queue, consumerName]);
      const payloads = Map.groupBy(jobs, ({ priority }) => priority);
      for (const [priority, those] of payloads)
        await admin.query("select pgque.send_batch($1, 'job', $2::text[], null, $3)", [
          queue,
          those.map(({ payload }) => payload),
          { priority },
        ]);
      await admin.query("vacuum analyze");
    },
    worker: (site, work) => pickWorker(site, batch, work),
  };
}

async function pickWorker({ connect }: PickSite, batch: number, work: Work): Promise<() => Promise<boolean>> {
  const receiving = await connect("worker receive", { synchronousCommit: "off" });
  const acking = await connect("worker ack");
  return async () => {
    const query = { name: "receive", ...receive(batch), rowMode: "array" as const };
    const { rows } = await receiving.query<[string, string]>(query);
    for (const [, payload] of rows) work(payload);
    if (rows.length > 0) await acking.query(ack(rows[0]?.[0]));
    return rows.length > 0;
  };
}

const pickSettings = [
  `a queue with ${lanes} priorities`,
  "receives with synchronous_commit off, on a connection of their own, as @pgque/worker does: a lost receive is only redelivered; acks with the run's",
];

const pgqueOne: Picker = {
  name: "pgque",
  summary: "Pgque's SQL, a message at a time: receive_messages, ack",
  settings: pickSettings,
  ...pgquePicker(1),
};

const pgqueBatch: Picker = {
  name: "pgque-batch",
  summary: "the same with up to 100 messages a receive, which is how it is meant to be used",
  settings: pickSettings,
  ...pgquePicker(100),
};

export const adapter: Adapter = {
  load: [pgque, underWorkers],
  send: senders,
  drain: [
    worker(
      {
        name: "pgque",
        summary: "@pgque/worker with the settings that its documentation gives for many short handlers",
        settings: [
          "concurrency 100, prefetch 4000, batchSize 2000: a batch is received while the one before it is handled, and settled in one call",
          "statements are prepared; heartbeats, leases and maintenance as in a service",
        ],
      },
      { concurrency: 100, prefetch: 4000, batchSize: 2000 },
    ),
    worker(
      {
        name: "pgque-default",
        summary: "the same with the worker's defaults",
        settings: ["concurrency 10, so batches of 20; statements are prepared"],
      },
      {},
    ),
  ],
  latency: [
    worker(
      {
        name: "pgque",
        summary: "`send` of @pgque/client, and @pgque/worker with its defaults, woken by NOTIFY",
        settings: ["concurrency 10, its default; statements are prepared, as advised for direct connections"],
        target: atMost(1, ms),
      },
      { concurrency: 10 },
    ),
  ],
  rates: [
    worker(
      {
        name: "pgque",
        summary: "`send` of @pgque/client, and workers of @pgque/worker with their defaults, all on one `Pgque`",
        settings: ["concurrency 10, so batches of 20; statements are prepared; maintenance as in a service"],
      },
      {},
    ),
  ],
  pick: [pgqueOne, pgqueBatch],
  degradation: [
    { name: "pgque", system: pgque, batch: 1 },
    { name: "pgque-batch", system: pgque, batch: 100 },
  ],
};
