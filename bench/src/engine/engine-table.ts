import type { EngineResults } from "./engine-results.ts";
import { engineCaveats, summaryOf, verdictLine } from "./engine-summary.ts";
import { spread, wrap } from "../report/format.ts";
import { plainTable } from "../report/plain-table.ts";

const heads = ["figure", "", "measured", "target", ""];

/** The table for a terminal, and under it what was met. */
export function engineTerminalReport(results: EngineResults): string {
  const summaries = summaryOf(results);
  const table = plainTable(heads, 2);
  for (const { figure, rows, errors } of summaries) {
    table.push([{ colSpan: heads.length, content: "" }]);
    for (const error of errors) table.push([figure.name, { colSpan: heads.length - 1, content: `error: ${error}` }]);
    for (const { value, spread: figures, verdict } of rows) {
      if (figures === null && errors.length > 0) continue;
      table.push([figure.name, value.label, spread(figures, value.format), value.target?.text ?? "", verdict ?? ""]);
    }
  }
  const verdicts = summaries.map(verdictLine).map((text) => wrap(text));
  return [table.toString(), verdicts.join("\n"), wrap(engineCaveats(results).join(" "))].filter(Boolean).join("\n\n");
}
