import { wrap } from "../report/format.ts";
import { terminalRows } from "../report/rows-table.ts";
import { mainColumns, textColumns } from "./compare-columns.ts";
import type { CompareResults } from "./compare-results.ts";
import { compareCaveats, compareRows } from "./compare-summary.ts";

/** The table for a terminal. */
export function compareTerminalReport(results: CompareResults): string {
  const rows = compareRows(results);
  return [terminalRows(mainColumns, rows, textColumns), wrap(compareCaveats(results).join(" "))].join("\n\n");
}
