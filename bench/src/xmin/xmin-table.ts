import type Table from "cli-table3";
import { baselineTable } from "../report/baseline/section.ts";
import { mainColumns } from "./xmin-columns.ts";
import { caveats, disturbance, findings } from "./xmin-findings.ts";
import { wrap } from "../report/format.ts";
import { plainTable } from "../report/table.ts";
import type { Results } from "./xmin-results.ts";
import { absence, rowsOf, type Row } from "./xmin-summary.ts";

/** The table for a terminal, and under it what it says in words; against an earlier run if one is given. */
export function terminalReport(results: Results, baseline: Results | null = null): string {
  const table = plainTable(
    mainColumns.map(({ head }) => twoLines(head)),
    2,
  );
  const rows = rowsOf(results);
  for (const [index, row] of rows.entries()) {
    if (index === 0 || rows[index - 1]?.system !== row.system)
      table.push([{ colSpan: mainColumns.length, content: "" }]);
    table.push(tableRow(row));
  }
  const partly = rows
    .filter(({ cells, errors }) => cells.length > 0 && errors.length > 0)
    .map(
      ({ system, horizon, errors }) =>
        `${system}, ${horizon}: ${errors.length} of its cells failed: ${errors.join("; ")}`,
    );
  const paragraphs = [
    table.toString(),
    [...findings(results), ...partly].map((text) => wrap(text)).join("\n"),
    wrap([...caveats(results), disturbance(results)].join(" ").trim()),
    baseline === null ? "" : baselineTable(results, baseline),
  ];
  return paragraphs.filter(Boolean).join("\n\n");
}

function tableRow(row: Row): Table.Cell[] {
  const absent = absence(row);
  if (absent === null) return mainColumns.map(({ cell }) => cell(row));
  return [
    row.system,
    row.horizon,
    { colSpan: mainColumns.length - 2, content: absent, hAlign: "left", wordWrap: true },
  ];
}

function twoLines(head: string): string {
  const words = head.split(" ");
  const half = Math.ceil(words.length / 2);
  return [words.slice(0, half).join(" "), words.slice(half).join(" ")].filter(Boolean).join("\n");
}
