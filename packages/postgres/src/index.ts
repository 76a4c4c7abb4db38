export { startPostgres, type Postgres, type PostgresOptions, type StopOptions } from "./postgres.ts";
export { majors, type Major } from "./binaries.ts";
export { freePort } from "./free-port.ts";
export { startWatchdog, type Watchdog } from "./watchdog.ts";
