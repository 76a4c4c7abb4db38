import { commonSettings, type CommonOptions, type CommonSettings } from "../scenario/common-settings.ts";
import { integer, names } from "../option.ts";
import { pickerNames } from "../adapters/registry.ts";

/** What a user of the scenario `pick` may choose. */
export interface PickOptions extends CommonOptions {
  /** One repeat of few jobs: indicative only. Default: false. */
  quick?: boolean;
  /** Default: 10000, quick 2000. */
  jobs?: number;
  /** Each with a connection of its own, or two. Default: 8. */
  workers?: number;
  /** Default: all. */
  systems?: string[];
  /** How often each cell is measured. Default: 5, quick 1. */
  repeat?: number;
}

export interface PickSettings extends CommonSettings {
  quick: boolean;
  jobs: number;
  workers: number;
  systems: string[];
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolvePickSettings(options: PickOptions): PickSettings {
  const quick = options.quick ?? false;
  return {
    quick,
    jobs: integer("jobs", options.jobs ?? (quick ? 2000 : 10_000), 1, 10_000_000),
    workers: integer("workers", options.workers ?? 8, 1, 100),
    systems: names("systems", options.systems ?? pickerNames, pickerNames),
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 5), 1, 100),
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: 10,
    ...commonSettings(options),
  };
}
