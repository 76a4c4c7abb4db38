import { chartCell, phaseSeconds } from "../report/html/chart-cell.ts";
import type { ChartData } from "../report/html/chart-data.ts";
import { measuresNamed } from "../report/html/measures.ts";
import type { DegradationResults, DegradationSamples } from "./degradation-results.ts";

const measures = [
  "depth",
  "lockP50Ms",
  "lockP99Ms",
  "deadTuples",
  "oldestTransactionSeconds",
  "finishedPerSecond",
  "bytes",
] as const;

/** All systems in the same charts. */
export function degradationCharts({ cells, settings }: DegradationResults, samples: DegradationSamples[]): ChartData {
  const errorOf = ({ system, repeat }: DegradationSamples): string | null =>
    cells.find((cell) => cell.system === system && cell.repeat === repeat)?.error ?? null;
  const drawn = samples.filter((own) => own.samples.length > 0);
  return {
    systems: settings.systems,
    measures: measuresNamed(measures),
    about:
      "Time runs from when the long transaction was opened; while it was open the chart is shaded. Times to lock a message are those since the sample " +
      "before. Dead tuples are those of the server's statistics, the table's are counted at the end.",
    groups: [
      {
        title: `${settings.rate} messages a second, one long transaction`,
        span: {
          label: "transaction open",
          fromSeconds: 0,
          untilSeconds: Math.max(0, ...drawn.map((own) => phaseSeconds(own.samples, "held"))),
        },
        cells: drawn.map((own) =>
          chartCell(
            { system: own.system, repeat: own.repeat, invalid: errorOf(own) !== null },
            own.samples,
            measures,
            "held",
          ),
        ),
        notes: cells.flatMap(({ system, repeat, error }) =>
          error === null ? [] : [`${system}, repeat ${repeat}: ${error}`],
        ),
      },
    ],
  };
}
