import { wrap } from "../report/format.ts";
import { terminalRows } from "../report/rows-table.ts";
import { columns, textColumns } from "./latency-columns.ts";
import type { LatencyResults } from "./latency-results.ts";
import { latencyCaveats, latencyRows, latencyVerdicts } from "./latency-summary.ts";

/** The table for a terminal, and under it what was met. */
export function latencyTerminalReport(results: LatencyResults): string {
  const rows = latencyRows(results);
  const verdicts = latencyVerdicts(rows).map((text) => wrap(text));
  return [terminalRows(columns, rows, textColumns), verdicts.join("\n"), wrap(latencyCaveats(results).join(" "))]
    .filter(Boolean)
    .join("\n\n");
}
