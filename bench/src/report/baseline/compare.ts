import { comparedFigures, type FigureColumn } from "../../scenarios/xmin/columns.ts";
import { notMeasured, ratio, spread } from "../format.ts";
import type { Results } from "../../scenarios/xmin/results.ts";
import { rowsOf, spreadIn, type Row } from "../../scenarios/xmin/columns.ts";

/** One figure of one system under one horizon, in this run and in an earlier one. */
export interface Compared {
  system: string;
  horizon: string;
  figure: string;
  /** Medians, and ranges in brackets. */
  now: string;
  before: string;
  /** Of the medians; where one is missing or the earlier one is zero there is none. */
  ratio: string;
}

/** Every row of this run that the baseline has too. */
export function compared(results: Results, baseline: Results): Compared[] {
  const earlier = rowsOf(baseline);
  return rowsOf(results).flatMap((row) => {
    const before = earlier.find(({ system, horizon }) => system === row.system && horizon === row.horizon);
    return before === undefined ? [] : comparedFigures.flatMap((figure) => comparedBy(figure, row, before));
  });
}

/** What a reader should know before comparing: this is not the baseline's machine, server or number of repeats. */
export function differences(results: Results, baseline: Results): string[] {
  const about = ({ machine, cells, settings }: Results): [string, string][] => [
    ["machine", `${machine.cpu}, ${machine.cores} cores`],
    ["Node.js", machine.node],
    ["PostgreSQL", [...new Set(cells.map(({ postgres }) => postgres))].join(", ")],
    ["repeats", String(settings.repeat)],
    ...Object.entries(settings.server),
  ];
  const before = new Map(about(baseline));
  const lines = about(results).flatMap(([name, now]) => {
    const then = before.get(name) ?? "not known";
    return then === now ? [] : [`${name}: ${now}, in the baseline ${then}`];
  });
  return baseline.interrupted ? [...lines, "the baseline was interrupted"] : lines;
}

/** Nothing, where neither of them has it. */
function comparedBy({ head, pick, format }: FigureColumn, row: Row, earlier: Row): Compared[] {
  const [now, before] = [spreadIn(row, pick), spreadIn(earlier, pick)];
  if (now === null && before === null) return [];
  const compared = {
    system: row.system,
    horizon: row.horizon,
    figure: head,
    now: spread(now, format),
    before: spread(before, format),
    ratio: now === null || before === null || before.median === 0 ? notMeasured : ratio(now.median / before.median),
  };
  return [compared];
}
