import type { Sample } from "../measure/sampler.ts";
import type { CellResult, Results } from "./results.ts";

/** One cell of the matrix, before it is run. */
export interface CellPlan {
  system: string;
  horizon: string;
  repeat: number;
}

/** Told what happens while it happens. Every part is optional to the run: it goes on without anyone listening. */
export interface Progress {
  /** Once, before the first cell. */
  begin(
    run: Pick<Results, "settings" | "machine" | "scenario"> & { cells: CellPlan[]; postgres: string; place: string },
  ): void;
  cellStarted(cell: CellPlan): void;
  phaseStarted(phase: string): void;
  sampled(sample: Sample): void;
  cellDone(result: CellResult): void;
  /** Always, also after an error; nothing is drawn after it. */
  end(): void;
}

export const silent: Progress = {
  begin() {},
  cellStarted() {},
  phaseStarted() {},
  sampled() {},
  cellDone() {},
  end() {},
};
