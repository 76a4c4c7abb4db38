import { chartCell, phaseSeconds } from "../report/html/chart-cell.ts";
import type { ChartData, ChartGroup } from "../report/html/chart-data.ts";
import { measuresNamed, type MeasureName } from "../report/html/measures.ts";
import { soakPhase } from "./soak-cell.ts";
import type { MeasuredSoak, SoakResults } from "./soak-results.ts";

const measures: MeasureName[] = [
  "depth",
  "deadTuples",
  "bytes",
  "sentPerSecond",
  "finishedPerSecond",
  "latencyP50Ms",
  "latencyP99Ms",
  "clientRssBytes",
  "clientHeapBytes",
  "serverMemoryBytes",
];

/** The samples of a run, by horizon. */
export function soakCharts({ settings }: SoakResults, measured: MeasuredSoak[]): ChartData {
  return {
    systems: settings.systems,
    measures: measuresNamed(measures),
    about:
      "Time runs from the first sample. While messages were sent is shaded; after it, until the queue was empty, nothing more was. Latencies are those of the messages " +
      "received since the sample before, dead tuples those of the server's statistics.",
    groups: settings.horizons.flatMap((horizon) => {
      const own = measured.filter(({ cell }) => cell.horizon === horizon);
      return own.length === 0 ? [] : [groupOf(horizon, own)];
    }),
  };
}

function groupOf(horizon: string, measured: MeasuredSoak[]): ChartGroup {
  const sampled = measured.filter(({ samples }) => samples.length > 0);
  return {
    title: `horizon held by ${horizon}`,
    span: {
      label: "sending",
      fromSeconds: 0,
      untilSeconds: Math.max(0, ...sampled.map(({ samples }) => phaseSeconds(samples, soakPhase))),
    },
    cells: sampled.map(({ cell: { system, repeat, error }, samples }) =>
      chartCell({ system, repeat, invalid: error !== null }, samples, measures, soakPhase),
    ),
    notes: measured.flatMap(({ cell: { system, repeat, error, notRun } }) => {
      const reason = error ?? (notRun === null ? null : `not run, because ${notRun}`);
      return reason === null ? [] : [`${system}, repeat ${repeat}: ${reason}`];
    }),
  };
}
