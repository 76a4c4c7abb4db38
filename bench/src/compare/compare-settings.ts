import { commonSettings, type CommonOptions, type CommonSettings } from "../scenario/common-settings.ts";
import { payloadBytesMin } from "../load/payload.ts";
import { integer, names } from "../option.ts";
import { systemNames } from "../adapters/registry.ts";
import { horizonNames } from "../horizons/registry.ts";
import { resolveSettings, type Settings } from "../xmin/xmin-settings.ts";

/** What a user of the scenario `compare` may choose. */
export interface CompareOptions extends CommonOptions {
  /** One repeat of short phases: indicative only. Default: false. */
  quick?: boolean;
  /** How long each phase is measured: saturated without and with the horizon held, and paced. Default: 60, quick 5. */
  durationSeconds?: number;
  /** Messages a second of the paced phase, all producers together. Default: 100. */
  rate?: number;
  /** Default: 4. */
  producers?: number;
  /** Default: 4. */
  consumers?: number;
  /** The most messages one receive returns. Default: 100. */
  batch?: number;
  /** Messages in one send of the saturated phases; the paced one sends one by one. Default: 10. */
  sendBatch?: number;
  /** Default: 75. */
  payloadBytes?: number;
  /** Default: all. */
  systems?: string[];
  /** What holds the horizon. Default: repeatable-read. */
  horizon?: string;
  /** How often each system is measured. Default: 3, quick 1. */
  repeat?: number;
}

export interface CompareSettings extends CommonSettings {
  quick: boolean;
  seconds: number;
  rate: number;
  producers: number;
  consumers: number;
  batch: number;
  sendBatch: number;
  payloadBytes: number;
  systems: string[];
  horizon: string;
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveCompareSettings(options: CompareOptions): CompareSettings {
  const quick = options.quick ?? false;
  const [horizon = ""] = names("horizon", [options.horizon ?? "repeatable-read"], horizonNames);
  return {
    quick,
    seconds: integer("duration", options.durationSeconds ?? (quick ? 5 : 60), 1, 86_400),
    rate: integer("rate", options.rate ?? 100, 1, 1_000_000),
    producers: integer("producers", options.producers ?? 4, 1, 100),
    consumers: integer("consumers", options.consumers ?? 4, 1, 100),
    batch: integer("batch", options.batch ?? 100, 1, 10_000),
    sendBatch: integer("send-batch", options.sendBatch ?? 10, 1, 10_000),
    payloadBytes: integer("payload-bytes", options.payloadBytes ?? 75, payloadBytesMin, 1_048_576),
    systems: names("systems", options.systems ?? systemNames, systemNames),
    horizon,
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 3), 1, 100),
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    ...commonSettings(options),
  };
}

/** The settings of one cell of the scenario `xmin` that measures a part of this one: as long without the horizon held as with it. */
export function partSettings(settings: CompareSettings, part: "saturated" | "paced"): Settings {
  const { quick, seconds, rate, sendBatch, producers, consumers, batch, payloadBytes } = settings;
  const load = part === "saturated" ? { rate: 0, sendBatch } : { rate, sendBatch: 1 };
  const resolved = resolveSettings({
    quick,
    durationSeconds: seconds,
    producers,
    consumers,
    batch,
    payloadBytes,
    ...load,
  });
  return { ...resolved, cleanSeconds: seconds, autovacuumNaptimeSeconds: settings.autovacuumNaptimeSeconds };
}
