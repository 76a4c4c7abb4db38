import { commonSettings, type CommonOptions, type CommonSettings } from "../scenario/common-settings.ts";
import { figureNames } from "./figures/registry.ts";
import { integer, names } from "../option.ts";

/** What a user of the scenario `engine` may choose. */
export interface EngineOptions extends CommonOptions {
  /** Small sizes, one repeat: indicative only. Default: false. */
  quick?: boolean;
  /** Default: all. */
  figures?: string[];
  /** How often each figure is measured. Default: 3, quick 1. */
  repeat?: number;
}

export interface EngineSettings extends CommonSettings {
  quick: boolean;
  figures: string[];
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
}

/** Throws a BenchOptionError for the first option that cannot be used. */
export function resolveEngineSettings(options: EngineOptions): EngineSettings {
  const quick = options.quick ?? false;
  return {
    quick,
    figures: names("figures", options.figures ?? figureNames, figureNames),
    repeat: integer("repeat", options.repeat ?? (quick ? 1 : 3), 1, 100),
    synchronousCommit: "on",
    autovacuumNaptimeSeconds: quick ? 1 : 10,
    ...commonSettings(options),
  };
}
