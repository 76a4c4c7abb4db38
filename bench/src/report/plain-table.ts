import Table from "cli-table3";
import type { TableBlock } from "./document.ts";

// No lines: rows that belong together are to be read together, an empty one sets groups apart.
const noLines = ["top", "bottom", "mid"].flatMap((line) => [line, `${line}-mid`, `${line}-left`, `${line}-right`]);
const chars = Object.fromEntries([...noLines, "left", "left-mid", "right", "right-mid"].map((name) => [name, ""]));

/** A table for a terminal; the first columns are text, the others numbers. */
export function plainTable(head: string[], textColumns: number): Table.Table {
  return new Table({
    head,
    colAligns: head.map((_, index) => (index < textColumns ? "left" : "right")),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...chars, middle: "  " },
  });
}

/** A report's table in a terminal. */
export function tableText({ heads, rows, textColumns }: TableBlock): string {
  const table = plainTable(heads, textColumns);
  for (const { cells, absence } of rows)
    table.push(absence === null ? cells : [...cells, { colSpan: heads.length - textColumns, content: absence }]);
  return table.toString();
}
