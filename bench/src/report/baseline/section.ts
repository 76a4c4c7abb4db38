import { heading, list, paragraph, type Block } from "../document.ts";
import { plainTable, tableOf, type Column } from "../table.ts";
import type { Results } from "../../scenarios/xmin/results.ts";
import { compared, differences, type Compared } from "./compare.ts";

const columns: Column<Compared>[] = [
  { head: "system", cell: ({ system }) => system },
  { head: "horizon held by", cell: ({ horizon }) => horizon },
  { head: "figure", cell: ({ figure }) => figure },
  { head: "this run", cell: ({ now }) => now },
  { head: "baseline", cell: ({ before }) => before },
  { head: "this / baseline", cell: ({ ratio }) => ratio },
];
const textColumns = 3;

const title = "Against the baseline";

/** For the reports. */
export function baselineSection(results: Results, earlier: Results): Block[] {
  const baseline = likeWithLike(results, earlier);
  if (baseline.cells.length === 0) return [heading(title), ...paragraph(nothingToCompare(results))];
  return [
    heading(title),
    ...paragraph(introduction(baseline)),
    ...list(differences(results, baseline)),
    tableOf({ caption: title, columns, textColumns, absence: () => null }, compared(results, baseline)),
  ];
}

/** For a terminal. */
export function baselineTable(results: Results, earlier: Results): string {
  const baseline = likeWithLike(results, earlier);
  if (baseline.cells.length === 0) return nothingToCompare(results);
  const heads = columns.map(({ head }) => head);
  const table = plainTable(heads, textColumns);
  let before: Compared | undefined;
  for (const row of compared(results, baseline)) {
    const same = row.system === before?.system && row.horizon === before.horizon;
    if (!same) table.push([{ colSpan: heads.length, content: "" }]);
    table.push(columns.map(({ cell }, index) => (same && index < 2 ? "" : cell(row))));
    before = row;
  }
  return [introduction(baseline), table.toString(), ...differences(results, baseline)].join("\n");
}

const nothingToCompare = ({ cells }: Results): string =>
  `The baseline has no cells of PostgreSQL ${[...new Set(cells.map(majorOf))].join(", ")} to compare these with.`;

const introduction = ({ startedAt }: Results): string =>
  `The baseline is the run of ${startedAt.slice(0, 16).replace("T", " ")} UTC. A ratio is that of the medians.`;

/**
 * What of a baseline this run's cells, which are of one server, can be compared with: its cells of the same major. A run of one major is compared with a
 * baseline of one other too: that they differ is told. Without cells: there is nothing to compare with.
 */
export function likeWithLike({ cells, majors }: Pick<Results, "cells" | "majors">, baseline: Results): Results {
  const own = new Set(cells.map(majorOf));
  const same = baseline.cells.filter((cell) => own.has(majorOf(cell)));
  const several = majors !== undefined || new Set(baseline.cells.map(majorOf)).size > 1;
  return same.length === 0 && !several ? baseline : { ...baseline, cells: same };
}

/** 17 of "17.10", and "19beta1" is of 19. */
const majorOf = ({ postgres }: { postgres: string }): number => Number.parseInt(postgres, 10);
