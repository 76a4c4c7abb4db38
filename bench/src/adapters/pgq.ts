import type pg from "pg";
import type { Adapter, Receive, RunningSystem, System, Workload } from "./adapter.ts";
import { dueOf } from "../load/messages.ts";
import { installFile } from "./support/sql-file.ts";
import { pulled, sendingBy, tunedSetting, tuneAutovacuum } from "./support/table.ts";

const queue = "bench";
const consumerName = "bench";

/** Three tables of events, of which one is written to. */
const pgqSegments = /^event_\d+_\d+$/;

const pgqSettings = [
  "one reader, whatever the run's consumers: a consumer of it has one batch at a time, and every other consumer gets every event again",
  "a ticker that looks every 100 ms and ticks when there are events (ticker_max_lag 100 ms, ticker_max_count the run's batch size): its defaults, a look a second and a tick every three, are for replication",
  "a batch is what came between two ticks, however much that is",
  "maint_operations every second, as its daemon runs them, its VACUUM of tick, queue and subscription among them",
  "rotation_period the least time between two rotations of the run: at its default, two hours, no trial would see one",
  "next_batch with synchronous_commit off, on a connection of its own, as pgque receives: a lost batch only begins again",
  "autovacuum is off on the tables of events: its own choice, there is nothing to vacuum",
  tunedSetting,
];

/**
 * A database into whose schema (`pgq`, or another with the same functions) the SQL was installed.
 *
 * @param sendMany sends `$1`, an array of texts
 */
async function openPgq(
  workload: Workload,
  schema: "pgq" | "pgque",
  sendMany = insertEvents(schema),
): Promise<RunningSystem> {
  const { admin, rotation, batch } = workload;
  await admin.query(`select ${schema}.create_queue($1)`, [queue]);
  const settings = {
    ticker_max_count: String(batch),
    ticker_max_lag: "100 milliseconds",
    ...(rotation === null ? {} : { rotation_period: `${rotation.minIntervalSeconds} seconds` }),
  };
  for (const [name, value] of Object.entries(settings)) {
    await admin.query(`select ${schema}.set_queue_config($1, $2, $3)`, [queue, name, value]);
  }
  await admin.query(`select ${schema}.register_consumer($1, $2)`, [queue, consumerName]);
  await tuneAutovacuum(admin, schema);
  const send = sendingBy(workload.sendBatch > 1 ? sendMany : insertEvents(schema));
  const running = await pulled({ ...workload, consumers: 1 }, send, () => reader(workload, schema));
  return { ...running, maintain: daemon(await workload.connect("ticker"), schema), maintainSeconds: 0.1 };
}

const insertEvents = (schema: string): string =>
  `select ${schema}.insert_event('${queue}', 'default', payload) from unnest($1::text[]) as payload`;

/** PgQue inserts them as a set. */
const sendBatch = `select pgque.send_batch('${queue}', 'default', $1::jsonb[])`;

async function reader(workload: Workload, schema: string): Promise<Receive> {
  const { tally } = workload;
  const receiving = await workload.connect("consumer receive", { synchronousCommit: "off" });
  const finishing = await workload.connect("consumer finish");
  return async () => {
    const next = await receiving.query<[string | null]>({
      name: "next",
      text: `select ${schema}.next_batch($1, $2)::text`,
      values: [queue, consumerName],
      rowMode: "array",
    });
    const batch = next.rows[0]?.[0] ?? null;
    if (batch === null) return 0;
    const { rows } = await receiving.query<[string]>({
      name: "events",
      text: `select ev_data from ${schema}.get_batch_events($1::bigint)`,
      values: [batch],
      rowMode: "array",
    });
    for (const [payload] of rows) tally.received(dueOf(payload));
    const finished = await finishing.query<[number]>({
      name: "finish",
      text: `select ${schema}.finish_batch($1::bigint)`,
      values: [batch],
      rowMode: "array",
    });
    if (finished.rows[0]?.[0] !== 1) throw new Error(`batch ${batch} could not be finished: it was not there any more`);
    tally.finished(rows.length);
    return rows.length;
  };
}

/** What its daemon does: ticks, and once a second what the database says is to be done, each in a transaction of its own. */
function daemon(client: pg.Client, schema: string): () => Promise<void> {
  let maintainAtMs = 0;
  return async () => {
    await client.query({ name: "tick", text: `select ${schema}.ticker($1)`, values: [queue] });
    if (performance.now() < maintainAtMs) return;
    maintainAtMs = performance.now() + 1000;
    const { rows } = await client.query<[string, string | null]>({
      name: "operations",
      text: `select func_name, func_arg from ${schema}.maint_operations()`,
      rowMode: "array",
    });
    for (const [operation, argument] of rows) {
      // names of functions and of tables are SQL already: that is how the daemon is to use them
      if (operation === "vacuum") await client.query(`vacuum ${argument}`);
      else if (argument === null) await client.query(`select ${operation}()`);
      else await client.query(`select ${operation}($1)`, [argument]);
    }
  };
}

export const pgq: System = {
  name: "pgq",
  summary:
    "PgQ (Skytools) in PL/pgSQL alone, by its SQL functions: insert_event, a ticker, next_batch, get_batch_events, finish_batch; events are only inserted, and truncated by table",
  settings: [
    "insert_event for each message: PgQ has no function for several",
    "its file pgq_pl_only.sql, which needs no extension, as a service in the cloud has it; it creates the roles pgq_reader, pgq_writer and pgq_admin, which stay on a server that was given",
    ...pgqSettings,
  ],
  schema: "pgq",
  segments: pgqSegments,
  async open(workload) {
    await installFile(workload, workload.sqlFiles.pgq, "--pgq-sql");
    return openPgq(workload, "pgq");
  },
};

/** PgQue, by the name that it gives itself besides: its own is ours but for a letter. */
export const pgqUniversal: System = {
  name: "pgq-universal",
  summary:
    'PgQue (NikolayS/PgQue), "PgQ Universal Edition": PgQ without its daemon: send_batch, a ticker, next_batch, get_batch_events, finish_batch',
  settings: [
    "its file pgque.sql; it creates roles, which stay on a server that was given",
    "send_batch for several messages, which inserts them as a set; insert_event for one. Receives by PgQ's functions, which its own call",
    ...pgqSettings,
  ],
  schema: "pgque",
  segments: pgqSegments,
  async open(workload) {
    await installFile(workload, workload.sqlFiles.pgqUniversal, "--pgq-universal-sql");
    return openPgq(workload, "pgque", sendBatch);
  },
};

export const adapter: Adapter = { load: [pgq, pgqUniversal] };
