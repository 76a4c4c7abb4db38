import { install } from "@pgque/sql";
import type pg from "pg";
import { dueOf } from "../load/payload.ts";
import type { Receive, Send, System, Workload } from "./system.ts";

export const queue = "bench";
export const consumerName = "bench";

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
    const { producers, consumers } = workload;
    const send = await Promise.all(Array.from({ length: producers }, () => producer(workload)));
    const receive = await Promise.all(Array.from({ length: consumers }, () => consumer(workload)));
    const maintainer = await workload.connect("maintain");
    return {
      send,
      consumers: { kind: "pulled", receive },
      async maintain() {
        await maintainer.query({ name: "maintain", text: "select pgque.maintain()" });
      },
    };
  },
};

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

export async function producer(workload: Workload): Promise<Send> {
  const client = await workload.connect("producer");
  if (workload.sendBatch === 1) {
    return async ([payload]) => {
      await client.query({ name: "send", text: "select pgque.send($1, $2::text)", values: [queue, payload] });
    };
  }
  return async (payloads) => {
    await client.query({
      name: "send_batch",
      text: "select pgque.send_batch($1, $2::text[])",
      values: [queue, payloads],
    });
  };
}

async function consumer(workload: Workload): Promise<Receive> {
  const receiving = await workload.connect("consumer receive", { synchronousCommit: "off" });
  const acking = await workload.connect("consumer ack");
  return async () => {
    const { rows } = await workload.tally.pick(() =>
      receiving.query<[string, string]>({
        name: "receive",
        text: "select batch_id::text, payload from pgque.receive_messages($1, $2, null, $3)",
        values: [queue, consumerName, workload.batch],
        rowMode: "array",
      }),
    );
    const [first] = rows;
    if (first === undefined) return 0;
    for (const [, payload] of rows) workload.tally.received(dueOf(payload));
    const acked = await acking.query<[number]>({
      name: "ack",
      text: "select pgque.ack($1::bigint)",
      values: [first[0]],
      rowMode: "array",
    });
    if (acked.rows[0]?.[0] !== 1) throw new Error(`batch ${first[0]} could not be acked: its lease was lost`);
    workload.tally.finished(rows.length);
    return rows.length;
  };
}
