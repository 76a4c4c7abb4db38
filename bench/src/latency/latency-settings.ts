import { commonSettings, type CommonOptions, type CommonSettings } from "../scenario/common-settings.ts";
import { integer, integers, names, onOrOff } from "../option.ts";
import { latencySystems } from "../adapters/registry.ts";

/** What a user of the scenario `latency` may choose. */
export interface LatencyOptions extends CommonOptions {
  /** One repeat of short cells: indicative only. Default: false. */
  quick?: boolean;
  /** How long each cell is measured, seconds. Default: 30, quick 4. */
  durationSeconds?: number;
  /** Messages a second. Default: 1, 100, 1000. */
  rates?: number[];
  /** Default: all. */
  systems?: string[];
  /** How long a handler goes on after it has its message, milliseconds: with 5 at 1000 messages a second half of the ten are busy. Default: 0. */
  handlerMs?: number;
  /** How often each cell is measured. Default: 5, quick 1. */
  repeat?: number;
  /** Of senders and workers. Default: `on`. */
  synchronousCommit?: string;
}

export interface LatencySettings extends CommonSettings {
  quick: boolean;
  seconds: number;
  /** Systems take turns of about so long. */
  roundSeconds: number;
  /** Before the first of them, and not counted. */
  warmupMessages: number;
  rates: number[];
  systems: string[];
  handlerMs: number;
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

export const latencySystemNames = latencySystems.map(({ name }) => name);

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveLatencySettings(options: LatencyOptions): LatencySettings {
  const quick = options.quick ?? false;
  return {
    quick,
    seconds: integer("duration", options.durationSeconds ?? (quick ? 4 : 30), 1, 3600),
    roundSeconds: quick ? 2 : 5,
    warmupMessages: 50,
    rates: integers("rates", options.rates ?? [1, 100, 1000], 1, 100_000),
    systems: names("systems", options.systems ?? latencySystemNames, latencySystemNames),
    handlerMs: integer("handler-ms", options.handlerMs ?? 0, 0, 60_000),
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 5), 1, 100),
    synchronousCommit: onOrOff("synchronous-commit", options.synchronousCommit ?? "on"),
    autovacuumNaptimeSeconds: 10,
    ...commonSettings(options),
  };
}
