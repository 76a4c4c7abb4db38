import { defineQueue, Pgque, type Queue } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { dueOf } from "../load/payload.ts";
import { prepareQueue, queue as queueName, consumerName } from "./pgque.ts";
import type { Consumers, Send, System, Workload } from "./system.ts";

/** Pgque with its worker: leases, heartbeats, settling and maintenance as in a service. */
export const pgqueWorker: System = {
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
    const pgque = new Pgque({
      connectionString: workload.url,
      max: 4 * workload.consumers + workload.producers,
      application_name: "worker",
    });
    const queue = defineQueue(queueName);
    await pgque.subscribe(queue, consumerName);
    const send: Send = async (payloads) => {
      const messages = payloads.map((payload): unknown => JSON.parse(payload));
      await (messages.length === 1 ? pgque.send(queue, messages[0]) : pgque.sendMany(queue, messages));
    };
    return {
      send: Array.from({ length: workload.producers }, () => send),
      consumers: workers(pgque, queue, workload),
      close: () => pgque.close(),
    };
  },
};

function workers(pgque: Pgque, queue: Queue, { consumers, batch, idlePollMs, tally }: Workload): Consumers {
  const all = Array.from(
    { length: consumers },
    () =>
      new Worker(
        pgque,
        queue,
        ({ payload }) => {
          tally.received(dueOf(payload));
          tally.finished(1);
        },
        {
          consumer: consumerName,
          concurrency: batch,
          batchSize: batch,
          prefetch: 2 * batch,
          pollMinMs: idlePollMs,
          pollMaxMs: idlePollMs,
        },
      ),
  );
  return {
    kind: "pushed",
    async start() {
      await Promise.all(all.map((worker) => worker.start()));
    },
    async stop() {
      await Promise.all(all.map((worker) => worker.stop()));
    },
  };
}
