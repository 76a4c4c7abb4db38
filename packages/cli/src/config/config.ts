import type { TaskConfig } from "../worker/task-options.ts";

/**
 * What `pgque.config.ts` exports by default: options of the commands, by their names; of `pgque worker` also those of tasks that do not set
 * them. An option that is given to a command or set in the environment overrides it.
 */
export interface PgqueConfig extends TaskConfig {
  /** The database. Default: `DATABASE_URL`, else the PG* variables; either counts for more than this. */
  databaseUrl?: string | undefined;
  /** The schema that Pgque is installed in. Default: `pgque`. */
  schema?: string | undefined;
  /** `pgque worker`: the folder of task files, from where the command runs. */
  folder?: string | undefined;
  /** `pgque worker`: the queues to serve, of those that the tasks serve. Default: all. */
  queue?: string | readonly string[] | undefined;
  /** `pgque worker`: a file of schedules, from where the command runs. Default: none. */
  crontab?: string | undefined;
  /** `pgque worker`: where /metrics, /healthz and /readyz are served; 0 for any free port. Default: nowhere. */
  metricsPort?: number | undefined;
  /** `pgque worker`: the address that this port is of. Default: `127.0.0.1`. */
  metricsHost?: string | undefined;
  /** `pgque worker`: the least that is logged. Default: `info`. */
  logLevel?: "debug" | "info" | "warn" | "error" | undefined;
  /** `pgque worker`: JSON lines, or for people. Default: `pretty` on a terminal, else `json`. */
  logFormat?: "json" | "pretty" | undefined;
}

/**
 * Gives a configuration its types.
 *
 * @example
 * // pgque.config.ts
 * export default defineConfig({ folder: "tasks", concurrency: 20, metricsPort: 9090 });
 */
export function defineConfig(config: PgqueConfig): PgqueConfig {
  return config;
}
