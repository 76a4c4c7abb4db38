import { hasFigures, type CellSamples, type Results } from "../../xmin/xmin-results.ts";
import { chartCell, phaseSeconds } from "./chart-cell.ts";
import type { ChartData, ChartGroup } from "./chart-data.ts";
import { measuresNamed } from "./measures.ts";

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
  const cells = results.cells.filter((cell) => cell.horizon === horizon);
  const sampled = cells.flatMap((cell) => {
    const { system, repeat } = cell;
    const own = samples.find((one) => one.system === system && one.horizon === horizon && one.repeat === repeat);
    return own === undefined ? [] : [{ system, repeat, invalid: !hasFigures(cell), samples: own.samples }];
  });
  return {
    title: `horizon held by ${horizon}`,
    span: {
      // nobody holds anything under `none`
      label: horizon === "none" ? "nobody holds" : "held",
      fromSeconds: 0,
      // until the last of the cells let go
      untilSeconds: Math.max(0, ...sampled.map((cell) => phaseSeconds(cell.samples, "held"))),
    },
    cells: sampled.map(({ samples: own, ...cell }) => chartCell(cell, own, measures, "held")),
    notes: cells.flatMap(({ system, repeat, error, notRun }) => {
      const reason = notRun ? `not run, because ${notRun}` : error;
      return reason === null ? [] : [`${system}, repeat ${repeat}: ${reason}`];
    }),
  };
}
