import type { CellSamples, Results } from "./results.ts";
import { chartGroup } from "../../report/html/chart-cell.ts";
import type { ChartData, ChartGroup } from "../../report/html/chart-data.ts";
import { measuresNamed } from "../../report/html/measures.ts";

const measures = [
  "depth",
  "deadTuples",
  "bytes",
  "sentPerSecond",
  "finishedPerSecond",
  "bystanderP50Ms",
  "bystanderP99Ms",
] as const;

/** The samples of a run, by horizon. */
export function chartData(results: Results, samples: CellSamples[]): ChartData {
  const { systems, horizons } = results.settings;
  return {
    systems,
    measures: measuresNamed(measures),
    about:
      "Time runs from the beginning of the held phase, which is shaded; before it the queue was clean, after it nothing more was sent. " +
      "Dead tuples are those of the server's statistics, the table's are counted at the end.",
    groups: horizons.flatMap((horizon) => {
      const group = groupOf(results, samples, horizon);
      return group.cells.length + group.notes.length === 0 ? [] : [group];
    }),
  };
}

function groupOf(results: Results, samples: CellSamples[], horizon: string): ChartGroup {
  const measured = results.cells
    .filter((cell) => cell.horizon === horizon)
    .map((cell) => {
      const { system, repeat } = cell;
      const own = samples.find((one) => one.system === system && one.horizon === horizon && one.repeat === repeat);
      return { cell, samples: own?.samples ?? [] };
    });
  return chartGroup(measured, {
    title: `horizon held by ${horizon}`,
    // nobody holds anything under `none`
    label: horizon === "none" ? "nobody holds" : "held",
    zero: "held",
    names: measures,
  });
}
