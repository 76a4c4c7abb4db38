import { wrap } from "../report/format.ts";
import { terminalRows } from "../report/rows-table.ts";
import { mainColumns, textColumns } from "./sends-columns.ts";
import type { SendsResults } from "./sends-results.ts";
import { sendsCaveats, sendsRows, sendsVerdicts, type SendsRow } from "./sends-summary.ts";

/** The tables for a terminal, and under them what was met. */
export function sendsTerminalReport(results: SendsResults): string {
  const rows = sendsRows(results);
  const tables = (["many", "one"] as const)
    .map((group) => groupTable(rows.filter(({ load }) => load.group === group)))
    .filter(Boolean);
  const verdicts = sendsVerdicts(rows).map((text) => wrap(text));
  return [...tables, verdicts.join("\n"), wrap(sendsCaveats(results).join(" "))].filter(Boolean).join("\n\n");
}

function groupTable(rows: SendsRow[]): string {
  const [first] = rows;
  return first === undefined ? "" : terminalRows(mainColumns(first.load.group), rows, textColumns);
}
