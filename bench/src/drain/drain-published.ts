import { spread, whole } from "../report/format.ts";
import type { Published } from "../report/published.ts";
import { spreadOf } from "../report/summary.ts";
import type { DrainRow } from "./drain-summary.ts";

/** Jobs a second of 200,000, by four processes of 24 each. */
const published: Record<string, number> = { "graphile-worker": 183_895, "graphile-worker-default": 15_606 };

/** Beside the same number of processes, where they were run. */
export function drainPublished(rows: DrainRow[]): Published {
  return {
    source:
      "*Published*: graphile-worker's documentation on performance, of 200,000 jobs and four processes of 24 jobs at a time, on a machine of theirs. " +
      "*Here*: this run, where workers and servers share the cores.",
    heads: ["system", "processes", "messages/s, published", "here"],
    textColumns: 2,
    rows: rows.flatMap(({ system, processes, measured }) => {
      const theirs = published[system.name];
      const own = spreadOf(measured.map(({ messagesPerSecond }) => messagesPerSecond));
      if (theirs === undefined || processes !== 4 || own === null) return [];
      return [[system.name, String(processes), whole(theirs), spread(own, whole)]];
    }),
  };
}
