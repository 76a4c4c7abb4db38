import { wrap } from "../report/format.ts";
import { terminalRows } from "../report/rows-table.ts";
import { mainColumns, textColumns } from "./drain-columns.ts";
import type { DrainResults } from "./drain-results.ts";
import { drainCaveats, drainRows, drainVerdicts } from "./drain-summary.ts";

/** The table for a terminal, and under it what was met. */
export function drainTerminalReport(results: DrainResults): string {
  const rows = drainRows(results);
  const verdicts = drainVerdicts(rows).map((text) => wrap(text));
  return [terminalRows(mainColumns, rows, textColumns), verdicts.join("\n"), wrap(drainCaveats(results).join(" "))]
    .filter(Boolean)
    .join("\n\n");
}
