import { bullmqPackage, onPostgres } from "../workers/bullmq-backend.ts";
import { Failure } from "../failure.ts";
import { bullmqConsumers, bullmqSend, bullmqWorkerSettings } from "./bullmq-load.ts";
import { closing } from "../closing.ts";
import type { System } from "./system.ts";
import { tunedSetting, tuneAutovacuum } from "./tuned.ts";

/** As many as a worker of Pgque is given. */
const connectionsPerWorker = 4;

export const bullmqPostgres: System = {
  name: "bullmq-postgres",
  summary:
    "BullMQ 6 on its PostgreSQL backend: add or addBulk, and its Worker, which claims rows picked with FOR UPDATE SKIP LOCKED by UPDATE, a job at a time, and is woken by NOTIFY",
  settings: [
    "its schema by runMigrations; a Queue with a connection for every producer, four and one that listens for each Worker: what a worker of pgque-worker has",
    ...bullmqWorkerSettings,
    tunedSetting,
  ],
  schema: "bullmq",
  segments: null,
  async open(workload) {
    const { admin, url, producers } = workload;
    const failure = new Failure();
    const { runMigrations } = await bullmqPackage();
    await runMigrations(admin);
    await tuneAutovacuum(admin, "bullmq");
    const queue = await (await onPostgres(url, producers)).queue(failure.note);
    const send = bullmqSend(queue);
    const consumers = bullmqConsumers(workload, await onPostgres(url, connectionsPerWorker), failure);
    return {
      send: Array.from({ length: producers }, () => send),
      consumers,
      maintain: failure.check,
      close: closing(
        () => consumers.stop(),
        () => queue.close(),
      ),
    };
  },
};
