import { commonSettings, type CommonOptions, type CommonSettings, integer, names } from "../runner/options.ts";
import { payloadBytesMin } from "../load/messages.ts";
import { resolveSettings, type Settings } from "../xmin/xmin-settings.ts";
import type { DegradedSystem } from "../adapters/adapter.ts";
import { degradedSystemNames } from "../adapters/registry.ts";

/** What a user of the scenario `degradation` may choose. */
export interface DegradationOptions extends CommonOptions {
  /** Twenty seconds at a higher rate: indicative only. Default: false. */
  quick?: boolean;
  /** How long the transaction is open in each cell; the original has 3600. Default: 900, quick 20. */
  durationSeconds?: number;
  /** Messages a second, sent one by one. Default: 50, quick 100. */
  rate?: number;
  /** Default: 1. */
  consumers?: number;
  /** Default: 75. */
  payloadBytes?: number;
  /** Default: que, que-patched, skip-locked, pgque. */
  systems?: string[];
  /** How often each system is measured. Default: 1. */
  repeat?: number;
}

export interface DegradationSettings extends CommonSettings {
  quick: boolean;
  /** Before the transaction is opened. */
  cleanSeconds: number;
  heldSeconds: number;
  /** The last part of it, whose lock times are those of the end. */
  endSeconds: number;
  rate: number;
  consumers: number;
  payloadBytes: number;
  systems: string[];
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/** The transaction of the original inserts a row and then idles: it holds a transaction id. */
export const longTransaction = "idle-in-transaction";

const defaultSystems = ["que", "que-patched", "skip-locked", "pgque"];

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveDegradationSettings(options: DegradationOptions): DegradationSettings {
  const quick = options.quick ?? false;
  const heldSeconds = integer("duration", options.durationSeconds ?? (quick ? 20 : 900), 1, 86_400);
  return {
    quick,
    cleanSeconds: Math.min(quick ? 5 : 60, heldSeconds),
    heldSeconds,
    endSeconds: Math.min(60, heldSeconds / 4),
    rate: integer("rate", options.rate ?? (quick ? 100 : 50), 1, 1_000_000),
    consumers: integer("consumers", options.consumers ?? 1, 1, 100),
    payloadBytes: integer("payload-bytes", options.payloadBytes ?? 75, payloadBytesMin, 1_048_576),
    systems: names("systems", options.systems ?? defaultSystems, degradedSystemNames),
    repeat: integer("repeat", options.repeat ?? 1, 1, 100),
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    ...commonSettings(options),
  };
}

/** The settings of the cell of the scenario `xmin` that measures one of this scenario: nobody else is there, and nothing is drained at the end. */
export function cellSettings(settings: DegradationSettings, { batch }: DegradedSystem): Settings {
  const { quick, cleanSeconds, heldSeconds, rate, consumers, payloadBytes, autovacuumNaptimeSeconds } = settings;
  const load = { rate, producers: 1, sendBatch: 1, consumers, batch, payloadBytes };
  return {
    ...resolveSettings({ quick, durationSeconds: heldSeconds, ...load }),
    cleanSeconds,
    recoverySecondsMax: 0,
    bystanders: 0,
    bystanderRows: 1,
    autovacuumNaptimeSeconds,
    // Pgque's own defaults
    rotation: null,
  };
}
