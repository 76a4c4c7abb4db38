import { styleText } from "node:util";
import stringWidth from "string-width";
import { sanitize } from "@pgque/client/redact";
import { holderName } from "@pgque/client/horizon";
import { showAge } from "../output/duration.ts";
import { showCount } from "../output/text.ts";
import { columns, sorted } from "./columns.ts";
import type { Snapshot } from "./snapshot.ts";

/** How the lines are to be shown. */
export interface View {
  /** The key of the column that they are sorted by. */
  sort: string;
  isReversed: boolean;
  /** Columns and rows of the terminal; Infinity: as much as there is. */
  width: number;
  height: number;
  /** What is said in the first line, beside the time. */
  title: string;
  /** What is said in the last line: keys, or what went wrong. Undefined: there is none. */
  footer: string | undefined;
}

const segmenter = new Intl.Segmenter();

/** What is on the screen, a string a line, none wider than the terminal. */
export function render({ at, lines, holders }: Snapshot, view: View): string[] {
  const top = [`${view.title}  ${at.slice(11, 19)} UTC`, horizonLine(holders), ""];
  const bottom = view.footer === undefined ? [] : ["", view.footer];
  const [header = "", ...body] = table(lines, view);
  const room = Math.max(1, view.height - top.length - 1 - bottom.length);
  const shown = body.length <= room ? body : [...body.slice(0, room - 1), `… ${body.length - room + 1} more`];
  const clipped = [...top, header, ...shown, ...bottom].map((line) => clip(sanitize(line), view.width));
  return clipped
    .slice(0, view.height)
    .map((line, i) => (i === top.length ? styleText("inverse", line, { stream: process.stdout }) : line));
}

function horizonLine([oldest, ...others]: Snapshot["holders"]): string {
  if (oldest === undefined) return "horizon: nobody holds it";
  const age = oldest.ageMs === null ? "" : ` for ${showAge(oldest.ageMs)}`;
  const more = others.length === 0 ? "" : ", and others";
  return `horizon: ${showCount(oldest.ageTransactions)} transactions back, held by ${holderName(oldest)}${age}${more}`;
}

function table(lines: Snapshot["lines"], { sort, isReversed, width }: View): string[] {
  const rows = [
    columns.map(({ key, title }) => (key === sort ? `${title}${isReversed ? "▲" : "▼"}` : title)),
    ...sorted(lines, sort, isReversed).map((line) => columns.map(({ show }) => show(line))),
  ];
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => stringWidth(row[i] ?? ""))));
  shrinkNames(widths, width);
  return rows.map((row) => row.map((cell, i) => pad(clip(cell, widths[i] ?? 0), widths[i] ?? 0, i > 1)).join("  "));
}

/** Names give way first, down to twelve columns. */
function shrinkNames(widths: number[], width: number): void {
  for (const i of [1, 0]) {
    const excess = widths.reduce((sum, of) => sum + of + 2, -2) - width;
    if (excess > 0) widths[i] = Math.min(widths[i] ?? 0, Math.max(12, (widths[i] ?? 0) - excess));
  }
}

function pad(text: string, width: number, isNumber: boolean): string {
  const space = " ".repeat(Math.max(0, width - stringWidth(text)));
  return isNumber ? space + text : text + space;
}

/** As much of a text as fits, by what a terminal makes of it. */
function clip(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let [kept, used] = ["", 0];
  for (const { segment } of segmenter.segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
