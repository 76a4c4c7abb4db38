import type { Adapter, Receive, Send, System, Workload } from "./adapter.ts";
import { dueOf } from "../load/payload.ts";
import { pulled } from "./support/pulled.ts";
import { installFile } from "./support/sql-file.ts";
import { tunedSetting, tuneAutovacuum } from "./support/tuned.ts";

const queue = "bench";

/** Longer than any consumer here takes for a batch. */
const visibilitySeconds = 30;

export const pgmq: System = {
  name: "pgmq",
  summary:
    "PGMQ by its SQL functions: send or send_batch, read, which makes rows picked with FOR UPDATE SKIP LOCKED invisible by UPDATE, and delete",
  settings: [
    "the SQL file of its own distribution, run as its documentation has it where the extension cannot be installed",
    "a queue made by create, neither unlogged nor partitioned; delete and not archive: nothing is kept, as by the others",
    "visibility of 30 s, as in its documentation: no message is read twice here",
    "reads with synchronous_commit off, on a connection of their own, as pgque receives: a lost read is only read again",
    tunedSetting,
  ],
  schema: "pgmq",
  segments: null,
  async open(workload) {
    await installFile(workload, workload.sqlFiles.pgmq, "--pgmq-sql");
    await workload.admin.query("select pgmq.create($1)", [queue]);
    await tuneAutovacuum(workload.admin, "pgmq");
    return pulled(workload, producer, consumer);
  },
};

async function producer(workload: Workload): Promise<Send> {
  const { sendBatch } = workload;
  const client = await workload.connect("producer");
  if (sendBatch === 1) {
    return async ([payload]) => {
      await client.query({ name: "send", text: "select pgmq.send($1, $2::jsonb)", values: [queue, payload] });
    };
  }
  return async (payloads) => {
    await client.query({ name: "send", text: "select pgmq.send_batch($1, $2::jsonb[])", values: [queue, payloads] });
  };
}

async function consumer(workload: Workload): Promise<Receive> {
  const { batch, tally } = workload;
  const reading = await workload.connect("consumer read", { synchronousCommit: "off" });
  const deleting = await workload.connect("consumer delete");
  return async () => {
    const { rows } = await reading.query<[string, object]>({
      name: "read",
      text: "select msg_id::text, message from pgmq.read($1, $2, $3)",
      values: [queue, visibilitySeconds, batch],
      rowMode: "array",
    });
    if (rows.length === 0) return 0;
    for (const [, message] of rows) tally.received(dueOf(message));
    const deleted = await deleting.query({
      name: "delete",
      text: "select pgmq.delete($1, $2::bigint[])",
      values: [queue, rows.map(([id]) => id)],
    });
    tally.finished(deleted.rowCount ?? 0);
    return rows.length;
  };
}

export const adapter: Adapter = { load: [pgmq] };
