import { defineQueue } from "@pgque/client";
import { install } from "@pgque/sql";
import type pg from "pg";
import type { Workload } from "../adapter.ts";

export const queue = "bench";
export const consumerName = "bench";
export const typedQueue = defineQueue(queue);

/** The queue rotates as the run's settings say. */
export async function prepareQueue({ admin, rotation }: Workload): Promise<void> {
  const options =
    rotation === null
      ? {}
      : { rotation_bytes: rotation.bytes, rotation_min_interval: `${rotation.minIntervalSeconds} s` };
  await createQueue(admin, options);
}

/** Installs the schema and makes the queue. */
export async function createQueue(admin: pg.Client, options: Record<string, unknown>): Promise<void> {
  await install(admin);
  await admin.query("select pgque.create_queue($1, $2)", [queue, options]);
}
