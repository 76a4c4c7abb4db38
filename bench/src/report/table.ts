import type Table from "cli-table3";
import { mainColumns } from "./columns.ts";
import { caveats, findings } from "./findings.ts";
import { wrap } from "./format.ts";
import { plainTable } from "./plain-table.ts";
import type { Results } from "./results.ts";
import { rowsOf, type Row } from "./summary.ts";

/** The table for a terminal, and under it what it says in words. */
export function terminalReport(results: Results): string {
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
    wrap(caveats(results).join(" ")),
  ];
  return paragraphs.filter(Boolean).join("\n\n");
}

function tableRow(row: Row): Table.Cell[] {
  if (row.cells.length > 0) return mainColumns.map(({ cell }) => cell(row));
  const error = `error: ${row.errors.join("; ")}`;
  return [row.system, row.horizon, { colSpan: mainColumns.length - 2, content: error, hAlign: "left", wordWrap: true }];
}

function twoLines(head: string): string {
  const words = head.split(" ");
  const half = Math.ceil(words.length / 2);
  return [words.slice(0, half).join(" "), words.slice(half).join(" ")].filter(Boolean).join("\n");
}
