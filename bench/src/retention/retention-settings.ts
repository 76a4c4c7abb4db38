import {
  commonSettings,
  type CommonOptions,
  type CommonSettings,
  BenchOptionError,
  integer,
  names,
} from "../runner/options.ts";
import type { FeedbackInterval } from "../horizons/advancing-feedback.ts";
import { payloadBytesMin } from "../load/messages.ts";
import { systemNames } from "../adapters/registry.ts";
import { resolveSettings, type Settings } from "../scenarios/xmin/settings.ts";

/** What a user of the scenario `retention` may choose. */
export interface RetentionOptions extends CommonOptions {
  /** Short cells on small tables, once: indicative only. Default: false. */
  quick?: boolean;
  /** How long each cell is measured. An interval longer than two fifths of it is not run. Default: 120, quick 10. */
  durationSeconds?: number;
  /** After how many milliseconds the slot moves on; `none`: no slot; `dynamic`: 100 ms, doubled while nothing happens. Default: none, 10, 1000, 10000, 100000, dynamic; quick none, 10, 1000, dynamic. */
  intervals?: string[];
  /** The queues beside the load. Default: pgque, skip-locked. */
  systems?: string[];
  /** Messages a second of the queue, all producers together. Default: 800. */
  rate?: number;
  /** Of the tables of the load, as pgbench's: 100,000 accounts each. Default: 10, quick 1. */
  scale?: number;
  /** Connections of the load. Default: 8. */
  tpcbClients?: number;
  /** Of the queue. Default: 4. */
  producers?: number;
  /** Of the queue. Default: 4. */
  consumers?: number;
  /** The most messages one receive returns. Default: 100. */
  batch?: number;
  /** Default: 75. */
  payloadBytes?: number;
  /** How often the whole matrix is run. Default: 3, quick 1. */
  repeat?: number;
}

export interface RetentionSettings extends CommonSettings {
  quick: boolean;
  seconds: number;
  /** In words, as they were given. */
  intervals: string[];
  systems: string[];
  rate: number;
  scale: number;
  tpcbClients: number;
  producers: number;
  consumers: number;
  batch: number;
  payloadBytes: number;
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

const defaultIntervals = {
  full: ["none", "10", "1000", "10000", "100000", "dynamic"],
  quick: ["none", "10", "1000", "dynamic"],
};

const intervalMsMax = 3_600_000;

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveRetentionSettings(options: RetentionOptions): RetentionSettings {
  const quick = options.quick ?? false;
  return {
    quick,
    seconds: integer("duration", options.durationSeconds ?? (quick ? 10 : 120), 1, 86_400),
    intervals: intervals(options.intervals ?? defaultIntervals[quick ? "quick" : "full"]),
    systems: names("systems", options.systems ?? ["pgque", "skip-locked"], systemNames),
    rate: integer("rate", options.rate ?? 800, 1, 1_000_000),
    scale: integer("scale", options.scale ?? (quick ? 1 : 10), 1, 10_000),
    tpcbClients: integer("tpcb-clients", options.tpcbClients ?? 8, 1, 100),
    producers: integer("producers", options.producers ?? 4, 1, 100),
    consumers: integer("consumers", options.consumers ?? 4, 1, 100),
    batch: integer("batch", options.batch ?? 100, 1, 10_000),
    payloadBytes: integer("payload-bytes", options.payloadBytes ?? 75, payloadBytesMin, 1_048_576),
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 3), 1, 100),
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    ...commonSettings(options),
  };
}

/** Null: no slot. */
export function intervalOf(name: string): FeedbackInterval | null {
  if (name === "none") return null;
  return name === "dynamic" ? "dynamic" : Number(name);
}

function intervals(given: string[]): string[] {
  const expected = `some of none, dynamic and whole milliseconds from 1 to ${intervalMsMax}`;
  const usable = (name: string): boolean =>
    ["none", "dynamic"].includes(name) || (/^[1-9]\d*$/.test(name) && Number(name) <= intervalMsMax);
  const unusable = given.find((name) => !usable(name));
  if (unusable !== undefined || given.length === 0) {
    throw new BenchOptionError("intervals", expected, unusable ?? "nothing");
  }
  return [...new Set(given)];
}

/** The settings by which the queue beside the load is set up and run. */
export function queueSettings(settings: RetentionSettings): Settings {
  const { quick, seconds, rate, producers, consumers, batch, payloadBytes } = settings;
  const resolved = resolveSettings({
    quick,
    durationSeconds: seconds,
    rate,
    producers,
    consumers,
    batch,
    payloadBytes,
    sendBatch: 1,
  });
  // the load is what goes on beside the queue here
  return { ...resolved, bystanders: 0, bystanderRows: 1 };
}
