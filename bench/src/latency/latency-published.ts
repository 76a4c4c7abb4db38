import { ms, spread, whole } from "../report/format.ts";
import type { Published } from "../report/published.ts";
import { spreadOf } from "../report/summary.ts";
import type { LatencyRow } from "./latency-summary.ts";

const graphileMeanMs = 4.3;
const pgQueMedianMs = { best: 52, stock: 1500 };

/** Another product than this one, which has a ticker to wait for. */
const notRun = "not run";

/** Beside the means and medians at the lowest rate of this run, which leaves a worker idle. */
export function latencyPublished(rows: LatencyRow[]): Published {
  const lowest = Math.min(...rows.map(({ messagesPerSecond }) => messagesPerSecond));
  const here = (system: string, pick: "mean" | "p50"): string | null => {
    const row = rows.find((one) => one.system.name === system && one.messagesPerSecond === lowest);
    const measured = spreadOf((row?.measured ?? []).map(({ latencyMs }) => latencyMs?.[pick]));
    return measured === null ? null : spread(measured, ms);
  };
  const line = (published: string, figure: string, at: "mean" | "p50", system: string): string[][] => {
    const measured = here(system, at);
    return measured === null ? [] : [[published, figure, `${measured} (${system}, ${whole(lowest)}/s)`]];
  };
  return {
    source:
      "*Published*: the mean of graphile-worker's own benchmark, and the medians that PgQue gives for itself at its best settings and at those it comes with; each on a machine of theirs and with a program of theirs. " +
      "They say of what order a latency is, no more.",
    heads: ["", "published", "here"],
    textColumns: 1,
    rows: [
      ...line("graphile-worker, mean", ms(graphileMeanMs), "mean", "graphile-worker"),
      ["PgQue at its best settings, median", ms(pgQueMedianMs.best), notRun],
      ["PgQue as it comes, median", ms(pgQueMedianMs.stock), notRun],
    ],
  };
}
