import type { Major } from "@pgque/postgres";
import { figureNames } from "./figures/registry.ts";
import { integer, major, names } from "./option.ts";

/** What a user of the scenario `engine` may choose. */
export interface EngineOptions {
  /** Small sizes, one repeat: indicative only. Default: false. */
  quick?: boolean;
  /** Default: all. */
  figures?: string[];
  /** How often each figure is measured. Default: 3, quick 1. */
  repeat?: number;
  /** Where results go. Default: `results/<time>-engine` below the current folder. */
  resultsFolder?: string;
  /** A server to use. Default: start an embedded one. */
  databaseUrl?: string;
  /** Of the embedded server. Default: 17. */
  postgresMajor?: number;
}

export interface EngineSettings {
  quick: boolean;
  figures: string[];
  repeat: number;
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
  resultsFolder: string | null;
  databaseUrl: string | null;
  postgresMajor: Major;
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
    resultsFolder: options.resultsFolder ?? null,
    databaseUrl: options.databaseUrl ?? null,
    postgresMajor: major(options.postgresMajor ?? 17),
  };
}
