import { commonSettings, type CommonOptions, type CommonSettings, integer, names } from "../runner/options.ts";
import { payloadBytesMin } from "../load/messages.ts";
import { systemNames } from "../adapters/registry.ts";
import { horizonNames } from "../horizons/registry.ts";
import { resolveSettings, type Settings } from "../xmin/xmin-settings.ts";

/** What a user of the scenario `soak` may choose. */
export interface SoakOptions extends CommonOptions {
  /** Half a minute a cell: indicative only. Default: false. */
  quick?: boolean;
  /** How long each cell is measured. Default: 1800, quick 30. */
  durationSeconds?: number;
  /** Messages a second, all producers together. Default: 800. */
  rate?: number;
  /** Default: 4. */
  producers?: number;
  /** Default: 4. */
  consumers?: number;
  /** The most messages one receive returns. Default: 100. */
  batch?: number;
  /** Default: 75. */
  payloadBytes?: number;
  /** Default: pgque. */
  systems?: string[];
  /** What holds the horizon, all the time. Default: none. */
  horizons?: string[];
  /** How often each cell is measured. Default: 1. */
  repeat?: number;
}

export interface SoakSettings extends CommonSettings {
  quick: boolean;
  seconds: number;
  rate: number;
  producers: number;
  consumers: number;
  batch: number;
  payloadBytes: number;
  sampleSeconds: number;
  systems: string[];
  horizons: string[];
  repeat: number;
  /** Null: Pgque's defaults. */
  rotation: Settings["rotation"];
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveSoakSettings(options: SoakOptions): SoakSettings {
  const quick = options.quick ?? false;
  const seconds = integer("duration", options.durationSeconds ?? (quick ? 30 : 1800), 1, 86_400);
  return {
    quick,
    seconds,
    rate: integer("rate", options.rate ?? 800, 1, 1_000_000),
    producers: integer("producers", options.producers ?? 4, 1, 100),
    consumers: integer("consumers", options.consumers ?? 4, 1, 100),
    batch: integer("batch", options.batch ?? 100, 1, 10_000),
    payloadBytes: integer("payload-bytes", options.payloadBytes ?? 75, payloadBytesMin, 1_048_576),
    sampleSeconds: quick ? 1 : 5,
    systems: names("systems", options.systems ?? ["pgque"], systemNames),
    horizons: names("horizons", options.horizons ?? ["none"], horizonNames),
    repeat: integer("repeat", options.repeat ?? 1, 1, 100),
    rotation: rotationFor(quick, seconds),
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    ...commonSettings(options),
  };
}

/** Size on disk is judged by whole rotations, of which there should be dozens: with the defaults, 64 MiB, and 800 messages/s that takes four hours. */
function rotationFor(quick: boolean, seconds: number): Settings["rotation"] {
  if (quick) return { bytes: 1024 * 1024, minIntervalSeconds: 2 };
  return seconds < 4 * 3600 ? { bytes: 8 * 1024 * 1024, minIntervalSeconds: 5 } : null;
}

/** The settings of a workbench for one cell. */
export function workbenchSettings(settings: SoakSettings): Settings {
  const { quick, seconds, rate, producers, consumers, batch, payloadBytes } = settings;
  const { sampleSeconds, rotation, synchronousCommit, autovacuumNaptimeSeconds } = settings;
  const durationSeconds = seconds;
  const load = { quick, durationSeconds, rate, sendBatch: 1, producers, consumers, batch, payloadBytes };
  return { ...resolveSettings(load), sampleSeconds, rotation, synchronousCommit, autovacuumNaptimeSeconds };
}
