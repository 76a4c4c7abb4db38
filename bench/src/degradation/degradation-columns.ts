import { bytes, clock, micros, ms, ratio, spread, whole } from "../report/format.ts";
import type { Column } from "../report/table.ts";
import { spreadOf } from "../measure/statistics.ts";
import type { DegradationFigures } from "./degradation-results.ts";
import type { DegradationRow } from "./degradation-summary.ts";

type Measured = Partial<DegradationFigures>;

const figure =
  (pick: (measured: Measured) => number | null | undefined, format: (value: number) => string) =>
  ({ measured }: DegradationRow): string =>
    spread(spreadOf(measured.map(pick)), format);

/** Somebody who does not say when it ran away does not say that it did not. */
function ranAway(row: DegradationRow): string {
  const ran = row.measured.filter(({ ranAwaySeconds }) => typeof ranAwaySeconds === "number");
  const after = figure(({ ranAwaySeconds }) => ranAwaySeconds, clock)(row);
  if (row.published || ran.length === row.measured.length) return after;
  return ran.length === 0 ? "never" : `${after} in ${ran.length} of ${row.measured.length}`;
}

/** How many columns of the tables are text. */
export const textColumns = 1;

const name: Column<DegradationRow> = { head: "system", cell: (row) => row.name };

/** The answer. */
export const mainColumns: Column<DegradationRow>[] = [
  name,
  { head: "backlog, end", cell: figure(({ backlogEnd }) => backlogEnd, whole) },
  { head: "backlog at most", cell: figure(({ backlogMax }) => backlogMax, whole) },
  { head: "ran away after", cell: ranAway },
  { head: "lock time, clean", cell: figure(({ lockCleanMs }) => lockCleanMs?.p50, ms) },
  { head: "lock time, end", cell: figure(({ lockEndMs }) => lockEndMs?.p50, ms) },
  { head: "end / clean", cell: figure(({ lockRatio }) => lockRatio, ratio) },
  { head: "dead tuples", cell: figure(({ deadTuples }) => deadTuples, whole) },
  { head: "finished/s, held", cell: figure(({ finishedPerSecond }) => finishedPerSecond, ratio) },
  { head: "CPU/message", cell: figure(({ serverCpuMicrosPerMessage }) => serverCpuMicrosPerMessage, micros) },
];

/** What else was measured; in the report only. */
export const moreColumns: Column<DegradationRow>[] = [
  name,
  { head: "sent/s, held", cell: figure(({ sentPerSecond }) => sentPerSecond, ratio) },
  { head: "finished/s, clean", cell: figure(({ finishedPerSecondClean }) => finishedPerSecondClean, ratio) },
  { head: "CPU/message, clean", cell: figure((of) => of.serverCpuMicrosPerMessageClean, micros) },
  { head: "lock time p99, clean", cell: figure(({ lockCleanMs }) => lockCleanMs?.p99, ms) },
  { head: "lock time p99", cell: figure(({ lockEndMs }) => lockEndMs?.p99, ms) },
  { head: "latency p50", cell: figure(({ latencyMs }) => latencyMs?.p50, ms) },
  { head: "latency p99", cell: figure(({ latencyMs }) => latencyMs?.p99, ms) },
  { head: "on disk", cell: figure(({ bytes: own }) => own, bytes) },
  { head: "oldest transaction", cell: figure(({ oldestTransactionSeconds }) => oldestTransactionSeconds, clock) },
];
