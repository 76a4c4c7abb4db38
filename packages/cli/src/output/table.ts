import { styleText } from "node:util";
import Table from "cli-table3";
import { sanitize } from "@pgque/client/redact";

/** One column: what stands above it, and what is shown of a row. Empty for null and undefined. */
export interface Column<Row> {
  head: string;
  cell: (row: Row) => string | number | null | undefined;
  /** `right` for numbers. Default: `left`. */
  align?: "left" | "right";
}

// No lines: what a person selects or pipes into awk is words and spaces.
const noLines = ["top", "bottom", "mid"].flatMap((line) => [line, `${line}-mid`, `${line}-left`, `${line}-right`]);
const chars = Object.fromEntries([...noLines, "left", "left-mid", "right", "right-mid"].map((name) => [name, ""]));

/**
 * Rows for a person, a line each, without a line end behind the last. What a row says cannot move the cursor or color the terminal: control
 * characters are shown as escapes. The head is bold on a terminal, unless NO_COLOR says otherwise.
 *
 * @example
 * table([{ head: "queue", cell: (row) => row.name }, { head: "delayed", cell: (row) => row.delayed, align: "right" }], rows);
 */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const made = new Table({
    head: columns.map(({ head }) => styleText("bold", head, { stream: process.stdout })),
    colAligns: columns.map(({ align = "left" }) => align),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...chars, middle: "  " },
  });
  for (const row of rows) made.push(columns.map(({ cell }) => sanitize(String(cell(row) ?? ""))));
  return made
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** What is known of one thing, a line each: its name and its value. */
export function facts(known: Record<string, string | number | null | undefined>): string {
  const width = Math.max(...Object.keys(known).map((name) => name.length));
  return Object.entries(known)
    .map(([name, value]) => `${name.padEnd(width)}  ${sanitize(String(value ?? ""))}`.trimEnd())
    .join("\n");
}
