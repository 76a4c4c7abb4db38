import type { Sample } from "../../measure/sampler.ts";
import type { TrialSamples, Results } from "./results.ts";
import { chartGroup } from "../../report/html/chart-trial.ts";
import type { ChartData, ChartGroup } from "../../report/html/chart-data.ts";
import { measuresNamed } from "../../report/html/measures.ts";

const measures = [
  "latencyP99Ms",
  "latencyP50Ms",
  "depth",
  "deadTuples",
  "bytes",
  "sentPerSecond",
  "finishedPerSecond",
  "bystanderP50Ms",
  "bystanderP99Ms",
] as const;

/** The samples of a run, by horizon. */
export function chartData(results: Results, samples: TrialSamples[]): ChartData {
  const { systems, horizons } = results.settings;
  return {
    systems,
    measures: measuresNamed(measures),
    about:
      "Time runs from the beginning of the held phase, which is shaded where a holder held; before it the queue was clean, after it nothing more was sent. " +
      "Dead tuples are those of the server's statistics, the table's are counted at the end.",
    groups: horizons.flatMap((horizon) => {
      const group = groupOf(results, samples, horizon);
      return group.trials.length + group.notes.length === 0 ? [] : [group];
    }),
  };
}

/** What the load left waited while dead tuples were counted: the latency of the recovery says nothing of the system. */
const withoutWait = (sample: Sample): Sample =>
  sample.phase === "recovery" ? { ...sample, latencyP50Ms: null, latencyP99Ms: null } : sample;

function groupOf(results: Results, samples: TrialSamples[], horizon: string): ChartGroup {
  const measured = results.trials
    .filter((trial) => trial.horizon === horizon)
    .map((trial) => {
      const { system, repeat } = trial;
      const own = samples.find((one) => one.system === system && one.horizon === horizon && one.repeat === repeat);
      return { trial, samples: (own?.samples ?? []).map(withoutWait) };
    });
  return chartGroup(measured, {
    title: `horizon held by ${horizon}`,
    label: horizon === "none" ? null : "held",
    zero: "held",
    names: measures,
  });
}
