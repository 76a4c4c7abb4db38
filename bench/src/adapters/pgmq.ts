import type { Adapter, Receive, System, Workload } from "./adapter.ts";
import { installFile } from "./support/sql-file.ts";
import { finishingBy, pulled, receivingBy, sendingBy, tunedSetting, tuneAutovacuum } from "./support/table.ts";

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
    return pulled(workload, producer(workload), consumer);
  },
};

/** `send` for one message, `send_batch` for several. */
const producer = ({ sendBatch }: Workload): ReturnType<typeof sendingBy> =>
  sendBatch === 1
    ? sendingBy("select pgmq.send($1, $2::jsonb)", ([payload]) => [queue, payload])
    : sendingBy("select pgmq.send_batch($1, $2::jsonb[])", (payloads) => [queue, payloads]);

const consumer = (workload: Workload): Promise<Receive> =>
  receivingBy(workload, {
    receive: {
      text: "select msg_id::text, message from pgmq.read($1, $2, $3)",
      values: [queue, visibilitySeconds, workload.batch],
    },
    finish: finishingBy("select pgmq.delete($2, $1::bigint[])", queue),
  });

export const adapter: Adapter = { load: [pgmq] };
