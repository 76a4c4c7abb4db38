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

const terminalColumns = 100;

/** A report's table in a terminal. Heads have two lines where one would not fit; an empty row sets apart what has several rows. */
export function tableText(block: TableBlock): string {
  const text = tableWith(block.heads, block);
  return widthOf(text) <= terminalColumns ? text : tableWith(block.heads.map(inTwoLines), block);
}

function tableWith(heads: string[], { rows, textColumns }: TableBlock): string {
  const table = plainTable(heads, textColumns);
  const hasGroups = new Set(rows.map(({ cells }) => cells[0])).size < rows.length;
  for (const [index, { cells, absence }] of rows.entries()) {
    if (hasGroups && cells[0] !== rows[index - 1]?.cells[0]) table.push([{ colSpan: heads.length, content: "" }]);
    table.push(absence === null ? cells : [...cells, { colSpan: heads.length - textColumns, content: absence }]);
  }
  return table.toString();
}

const widthOf = (text: string): number => Math.max(...text.split("\n").map(({ length }) => length));

function inTwoLines(head: string): string {
  const words = head.split(" ");
  const half = Math.ceil(words.length / 2);
  return [words.slice(0, half).join(" "), words.slice(half).join(" ")].filter(Boolean).join("\n");
}

/** All repeats of one cell. */
export interface MeasuredRow {
  /** What was measured, once for each repeat that has figures. */
  measured: unknown[];
  errors: string[];
  skipped: string[];
}

export interface Column<Row> {
  head: string;
  cell: (row: Row) => string;
}

/** What stands in a row without figures in place of them. */
export function absence({ measured, errors, skipped }: MeasuredRow): string | null {
  if (measured.length > 0) return null;
  const [error] = errors;
  return error === undefined ? `skipped, because ${skipped[0] ?? "the run was stopped"}` : `error: ${error}`;
}

/** The first column says so too when some repeats of a row failed, lest the others pass for all of them. */
function tellingFailures<Row extends MeasuredRow>([first, ...others]: Column<Row>[]): Column<Row>[] {
  if (first === undefined) return [];
  const cell = (row: Row): string => first.cell(row) + failedText(row);
  return [{ ...first, cell }, ...others];
}

function failedText({ measured, errors }: MeasuredRow): string {
  if (measured.length === 0 || errors.length === 0) return "";
  return ` (${errors.length} of ${measured.length + errors.length} failed)`;
}

/** For a report; the first columns are text and say which row it is. */
export function reportRows<Row extends MeasuredRow>(
  caption: string,
  columns: Column<Row>[],
  rows: Row[],
  textColumns: number,
): TableBlock {
  return tableOf({ caption, columns: tellingFailures(columns), textColumns, absence }, rows);
}

/** The same for rows that say in their own way why they have no figures. */
export function tableOf<Row>(
  table: { caption: string; columns: Column<Row>[]; textColumns: number; absence: (row: Row) => string | null },
  rows: Row[],
): TableBlock {
  const { caption, columns, textColumns } = table;
  return {
    kind: "table",
    caption,
    heads: columns.map(({ head }) => head),
    textColumns,
    rows: rows.map((row) => {
      const absent = table.absence(row);
      const shown = absent === null ? columns : columns.slice(0, textColumns);
      return { cells: shown.map(({ cell }) => cell(row)), absence: absent };
    }),
  };
}

/** For a terminal. */
export const terminalRows = <Row extends MeasuredRow>(
  columns: Column<Row>[],
  rows: Row[],
  textColumns: number,
): string => tableText(reportRows("", columns, rows, textColumns));
