/**
 * What `pgque.config.ts` exports by default: options of the commands, by their names. An option that is given to a command or set in the
 * environment counts for more.
 */
export interface PgqueConfig {
  /** The database. Default: `DATABASE_URL`, else the PG* variables; either counts for more than this. */
  databaseUrl?: string | undefined;
  /** The schema that Pgque is installed in. Default: `pgque`. */
  schema?: string | undefined;
  /** `pgque worker`: the folder of task files, from where the command runs. */
  folder?: string | undefined;
  /** `pgque worker`: the queues to serve, of those that the tasks serve. Default: all. */
  queue?: string | readonly string[] | undefined;
  /** `pgque worker`: the consumer of tasks that name none. Default: `default`. */
  consumer?: string | undefined;
  /** `pgque worker`: handlers at once, of each task that does not say. 1 to 10000. Default: 10. */
  concurrency?: number | undefined;
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

/** Every key of a configuration, with the type that its value has. */
export const configKeys: Readonly<Record<keyof PgqueConfig, "string" | "number" | "strings">> = {
  databaseUrl: "string",
  schema: "string",
  folder: "string",
  queue: "strings",
  consumer: "string",
  concurrency: "number",
  crontab: "string",
  metricsPort: "number",
  metricsHost: "string",
  logLevel: "string",
  logFormat: "string",
};

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
