import { openPgq, pgqSegments, pgqSettings } from "./pgq-load.ts";
import { installFile } from "./sql-file.ts";
import type { System } from "./system.ts";

export const pgq: System = {
  name: "pgq",
  summary:
    "PgQ (Skytools) in PL/pgSQL alone, by its SQL functions: insert_event, a ticker, next_batch, get_batch_events, finish_batch; events are only inserted, and truncated by table",
  settings: [
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
