import { commonSettings, type CommonOptions, type CommonSettings, integer, names } from "../runner/options.ts";
import { payloadBytesMin } from "../load/messages.ts";
import { systemNames } from "../adapters/registry.ts";
import { horizonNames } from "../horizons/registry.ts";
import { sqlFilesOf, type SqlFileOptions } from "../adapters/support/sql-file.ts";
import type { SqlFiles } from "../adapters/adapter.ts";

/** What a user may choose. Everything has a default, which `quick` changes. */
export interface BenchOptions extends SqlFileOptions, CommonOptions {
  /** About two minutes, saturated, one repeat: indicative only. Default: false. */
  quick?: boolean;
  /** The held phase of a cell, seconds. Default: 180, quick 15. */
  durationSeconds?: number;
  /** Messages a second, all producers together; 0 is saturated (closed loop). Default: 800, quick 0. */
  rate?: number;
  /** Default: 4. */
  producers?: number;
  /** Default: 4. */
  consumers?: number;
  /** The most messages one receive returns. Default: 100. */
  batch?: number;
  /** Messages in one send. Default: 1, quick 10. */
  sendBatch?: number;
  /** Default: 75. */
  payloadBytes?: number;
  /** Default: pgque, skip-locked. */
  systems?: string[];
  /** Default: none, repeatable-read. */
  horizons?: string[];
  /** How often the whole matrix is run. Default: 3, quick 1. */
  repeat?: number;
  /** The results.json of an earlier run with the same settings, to compare with. Default: none. */
  baselineFile?: string;
}

/** The options with every default filled in, and what follows from them. */
export interface Settings extends CommonSettings {
  quick: boolean;
  mode: "saturated" | "paced";
  cleanSeconds: number;
  heldSeconds: number;
  /** The longest a backlog is given to drain. */
  recoverySecondsMax: number;
  rate: number;
  producers: number;
  consumers: number;
  bystanders: number;
  bystanderRows: number;
  bystanderRate: number;
  batch: number;
  sendBatch: number;
  payloadBytes: number;
  idlePollMs: number;
  sampleSeconds: number;
  sqlFiles: SqlFiles;
  systems: string[];
  horizons: string[];
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
  /** Null: Pgque's defaults. */
  rotation: { bytes: number; minIntervalSeconds: number } | null;
  baselineFile: string | null;
}

const quickDefaults = { durationSeconds: 15, rate: 0, sendBatch: 10, repeat: 1 };
const fullDefaults = { durationSeconds: 180, rate: 800, sendBatch: 1, repeat: 3 };

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveSettings(options: BenchOptions): Settings {
  const quick = options.quick ?? false;
  const defaults = quick ? quickDefaults : fullDefaults;
  const rate = integer("rate", options.rate ?? defaults.rate, 0, 1_000_000);
  const heldSeconds = integer("duration", options.durationSeconds ?? defaults.durationSeconds, 1, 86_400);
  return {
    quick,
    mode: rate === 0 ? "saturated" : "paced",
    cleanSeconds: quick ? Math.min(5, heldSeconds) : Math.min(30, Math.max(1, Math.round(heldSeconds / 6))),
    heldSeconds,
    recoverySecondsMax: quick ? Math.min(10, heldSeconds) : Math.max(10, Math.round(heldSeconds / 2)),
    rate,
    producers: integer("producers", options.producers ?? 4, 1, 100),
    consumers: integer("consumers", options.consumers ?? 4, 1, 100),
    bystanders: 2,
    bystanderRows: quick ? 100_000 : 1_000_000,
    bystanderRate: 50,
    batch: integer("batch", options.batch ?? 100, 1, 10_000),
    sendBatch: integer("send-batch", options.sendBatch ?? defaults.sendBatch, 1, 10_000),
    payloadBytes: integer("payload-bytes", options.payloadBytes ?? 75, payloadBytesMin, 1_048_576),
    idlePollMs: 10,
    sampleSeconds: quick ? 1 : 5,
    sqlFiles: sqlFilesOf(options),
    systems: names("systems", options.systems ?? ["pgque", "skip-locked"], systemNames),
    horizons: names("horizons", options.horizons ?? ["none", "repeatable-read"], horizonNames),
    repeat: integer("repeat", options.repeat ?? defaults.repeat, 1, 100),
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    rotation: rotationFor(quick, heldSeconds),
    baselineFile: options.baselineFile ?? null,
    ...commonSettings(options),
  };
}

/** A cell should see several rotations: at its defaults, 64 MiB, Pgque would not rotate in a short one. */
function rotationFor(quick: boolean, heldSeconds: number): Settings["rotation"] {
  if (quick) return { bytes: 4 * 1024 * 1024, minIntervalSeconds: 2 };
  return heldSeconds < 1800 ? { bytes: 8 * 1024 * 1024, minIntervalSeconds: 5 } : null;
}

/** What one cell is expected to take, for the time left; a backlog may take longer. */
export function cellSecondsExpected(settings: Pick<Settings, "cleanSeconds" | "heldSeconds">): number {
  const overheadSeconds = 3;
  return settings.cleanSeconds + settings.heldSeconds + overheadSeconds;
}
