import { bytes, micros, ms, spread, whole } from "../report/format.ts";
import type { Column } from "../report/table.ts";
import { spreadOf } from "../measure/statistics.ts";
import { driftMeasureNamed, type DriftMeasure } from "./drift-measures.ts";
import type { SoakFigures } from "./soak-results.ts";
import { perHourText, type DriftRow, type SoakRow } from "./soak-summary.ts";

/** Of a row with a measure. */
const of =
  (text: (drift: DriftRow["measured"][number], measure: DriftMeasure) => string) =>
  ({ measured }: DriftRow): string =>
    measured.map((drift) => text(drift, driftMeasureNamed(drift.measure))).join("");

/** How many columns of either table are text. */
export const textColumns = 2;

/** The answer. */
export const driftColumns: Column<DriftRow>[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "horizon held by", cell: ({ horizon }) => horizon },
  { head: "measure", cell: of((_, { title }) => title) },
  { head: "median", cell: of(({ typical }, { format }) => format(typical)) },
  { head: "change an hour", cell: of(perHourText) },
  { head: "limit", cell: of(({ limitPerHour }, { format }) => format(limitPerHour)) },
  { head: "verdict", cell: of(({ verdict }) => verdict) },
];

const figure =
  (pick: (figures: SoakFigures) => number | null | undefined, format: (value: number) => string) =>
  ({ measured }: SoakRow): string =>
    spread(spreadOf(measured.map(pick)), format);

const typical = (name: DriftMeasure["name"]): Column<SoakRow>["cell"] =>
  figure(
    ({ drifts }) => drifts.find(({ measure }) => measure === name)?.typical,
    (value) => driftMeasureNamed(name).format(value),
  );

/** The charts' figures, and what they cost. */
export const figureColumns: Column<SoakRow>[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "horizon held by", cell: ({ horizon }) => horizon },
  { head: "sent/s", cell: figure(({ sentPerSecond }) => sentPerSecond, whole) },
  { head: "finished per second", cell: figure(({ finishedPerSecond }) => finishedPerSecond, whole) },
  { head: "backlog at most", cell: figure(({ depthMax }) => depthMax, whole) },
  { head: "latency p50", cell: figure(({ latencyMs }) => latencyMs?.p50, ms) },
  { head: "latency p99", cell: figure(({ latencyMs }) => latencyMs?.p99, ms) },
  { head: "dead tuples", cell: figure(({ deadTuples }) => deadTuples, whole) },
  { head: "on disk", cell: typical("bytes") },
  { head: "rotations", cell: figure(({ rotations }) => rotations, whole) },
  { head: "given back", cell: figure(({ bytesReclaimed }) => bytesReclaimed, bytes) },
  { head: "memory", cell: typical("clientRssBytes") },
  { head: "heap", cell: typical("clientHeapBytes") },
  { head: "server memory", cell: typical("serverMemoryBytes") },
  { head: "CPU per message", cell: figure(({ serverCpuMicrosPerMessage }) => serverCpuMicrosPerMessage, micros) },
];
