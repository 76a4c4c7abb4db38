import type { EngineSettings } from "./engine-settings.ts";
import type { ReportedSettings, ResultsHead } from "../report/results.ts";

/** One measurement of one figure, before it is made. */
export interface FigurePlan {
  name: string;
  /** From 1. */
  repeat: number;
}

/** One figure, measured once. */
export interface FigureResult extends FigurePlan {
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
    /** How long, how many, how much: by figure. */
    sizes: Record<string, Record<string, number>>;
  };
  figures: FigureResult[];
  /** True when it was stopped before all figures were measured. */
  interrupted: boolean;
}
