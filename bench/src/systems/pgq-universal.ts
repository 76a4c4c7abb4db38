import { openPgq, pgqSegments, pgqSettings } from "./pgq-load.ts";
import { installFile } from "./sql-file.ts";
import type { System } from "./system.ts";

/** PgQue, by the name that it gives itself besides: its own is ours but for a letter. */
export const pgqUniversal: System = {
  name: "pgq-universal",
  summary:
    'PgQue (NikolayS/PgQue), "PgQ Universal Edition": PgQ without its daemon, by the functions that it has of PgQ: insert_event, a ticker, next_batch, get_batch_events, finish_batch',
  settings: [
    "its file pgque.sql; it creates roles, which stay on a server that was given",
    "its functions of PgQ's names and not those on top of them, which call these: so both are measured alike",
    ...pgqSettings,
  ],
  schema: "pgque",
  segments: pgqSegments,
  async open(workload) {
    await installFile(workload, workload.sqlFiles.pgqUniversal, "--pgq-universal-sql");
    return openPgq(workload, "pgque");
  },
};
