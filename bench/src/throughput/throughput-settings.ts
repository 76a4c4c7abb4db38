import { commonSettings, type CommonOptions, type CommonSettings } from "../scenario/common-settings.ts";
import { payloadBytesMin } from "../load/payload.ts";
import { integer, integers, names, onOrOff } from "../option.ts";
import { sqlFilesOf, type SqlFileOptions } from "../adapters/support/sql-file.ts";
import type { SqlFiles } from "../adapters/adapter.ts";

/** What a user of the scenario `throughput` may choose. */
export interface ThroughputOptions extends SqlFileOptions, CommonOptions {
  /** One repeat of short cells with smaller batches: indicative only. Default: false. */
  quick?: boolean;
  /** How long each cell is measured, seconds; a receive ends with its backlog if that comes first. Default: 10, quick 2. */
  durationSeconds?: number;
  /** Connections that send one message a transaction. Batches are sent and received on one. Default: 16. */
  clients?: number;
  /** Messages in one send or receive, less where their payloads are more than 64 MiB. At most 100000, Pgque's own limit. Default: 100000, quick 5000. */
  batch?: number;
  /** Received from a backlog, less where their payloads are more than 512 MiB. Default: 1000000, quick 30000. */
  messages?: number;
  /** Bytes of a payload; one message a transaction is sent with the smallest alone. Default: 100, 2048. */
  payloadBytes?: number[];
  /** Default: all. */
  systems?: string[];
  /** How often each cell is measured. Default: 3, quick 1. */
  repeat?: number;
  /** Of senders and of what finishes messages. Default: `off`, as published. */
  synchronousCommit?: string;
}

export interface ThroughputSettings extends CommonSettings {
  quick: boolean;
  seconds: number;
  /** Of sending, before it is measured; of receiving it is one call. */
  warmupSeconds: number;
  clients: number;
  batch: number;
  messages: number;
  payloadBytes: number[];
  idlePollMs: number;
  sqlFiles: SqlFiles;
  systems: string[];
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/**
 * Those that keep their messages in PostgreSQL, and whose consumers the harness can call for one batch after the other. A library's own
 * workers are what the scenario `drain` measures, its sends what `sends` does.
 */
export const throughputSystemNames = ["pgque", "skip-locked", "skip-locked-delete", "pgmq", "pgq", "pgq-universal"];

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveThroughputSettings(options: ThroughputOptions): ThroughputSettings {
  const quick = options.quick ?? false;
  const systems = options.systems ?? throughputSystemNames;
  return {
    quick,
    seconds: integer("duration", options.durationSeconds ?? (quick ? 2 : 10), 1, 3600),
    warmupSeconds: quick ? 0.5 : 2,
    clients: integer("clients", options.clients ?? 16, 1, 100),
    batch: integer("batch", options.batch ?? (quick ? 5000 : 100_000), 2, 100_000),
    messages: integer("messages", options.messages ?? (quick ? 30_000 : 1_000_000), 1, 100_000_000),
    payloadBytes: integers("payload-bytes", options.payloadBytes ?? [100, 2048], payloadBytesMin, 1_048_576),
    idlePollMs: 10,
    sqlFiles: sqlFilesOf(options),
    systems: names("systems", systems, throughputSystemNames),
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 3), 1, 100),
    synchronousCommit: onOrOff("synchronous-commit", options.synchronousCommit ?? "off"),
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    ...commonSettings(options),
  };
}
