import type { ReportedSettings, ResultsHead } from "../../report/results.ts";
import { namesOption, repeatOption, type OptionsOf, type SettingsOf } from "../../runner/options.ts";
import { microbenchmarkNames } from "./registry.ts";

export const engineOptions = {
  microbenchmarks: namesOption(["microbenchmarks <names>", ""], microbenchmarkNames),
  repeat: repeatOption(3, 1),
};

/** What a user of the scenario `engine` may choose. */
export type EngineOptions = OptionsOf<typeof engineOptions>;

export type EngineSettings = SettingsOf<typeof engineOptions> & {
  synchronousCommit: "on" | "off";
  autovacuumNaptimeSeconds: number;
};

/** One measurement of one microbenchmark, before it is made. */
export interface MicrobenchmarkPlan {
  name: string;
  /** From 1. */
  repeat: number;
}

/** One microbenchmark, measured once. */
export interface MicrobenchmarkResult extends MicrobenchmarkPlan {
  /** Of the server, as in "17.10". */
  postgres: string;
  /** By name; null: not measured. Without any when there is an error. */
  values: Record<string, number | null>;
  /** What they are to reach, by name of the value. */
  target: Record<string, string>;
  /** Whether they all do; null when one was not measured. */
  met: boolean | null;
  seconds: number;
  /** Why there are no values. */
  error: string | null;
}

export interface EngineResults extends ResultsHead {
  settings: ReportedSettings<EngineSettings> & {
    /** How long, how many, how much: by microbenchmark. */
    sizes: Record<string, Record<string, number>>;
  };
  microbenchmarks: MicrobenchmarkResult[];
  /** True when it was stopped before everything was measured. */
  interrupted: boolean;
}
