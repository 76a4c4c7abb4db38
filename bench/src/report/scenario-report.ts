import { closing } from "./closing.ts";
import {
  headed,
  list,
  paragraph,
  prose,
  titleOf,
  type Block,
  type Document,
  type Item,
  type TableBlock,
  type Text,
} from "./document.ts";
import { spread, wrap } from "./format.ts";
import type { Machine } from "./machine.ts";
import { tableText } from "./plain-table.ts";
import { serverLine } from "./server-line.ts";
import { spreadOf } from "./summary.ts";

/** What a scenario says of its results: rendered as report.md, report.html, and in a terminal. */
export interface ScenarioReport {
  /** What the reader should know before the numbers. */
  caveats: string[];
  /** One sentence for each target. */
  verdicts?: string[];
  /** How the table is to be read. Default: that it has medians and ranges. */
  intro?: string;
  /** The answer; of several tables each has its caption above it in the report. */
  table: TableBlock | TableBlock[];
  /** What belongs to the answer: each has its caption above it in the report. Default: nothing. */
  besides?: TableBlock[];
  /** What follows the tables, in the report only; a string is our own prose. */
  more: (string | Block)[];
  /** What was run, in its author's words. */
  systems: (Text | Item)[];
  /** How it was run; the server's line is added. */
  settings: string[];
}

interface Reported {
  scenario: string;
  startedAt: string;
  machine: Machine;
  interrupted: boolean;
  settings: { repeat: number; indicative: boolean; embedded: boolean; server: Record<string, string> };
}

/** The two renderings that the runner asks a scenario for; what is drawn of the samples is in the report only. */
export function reporting<Results extends Reported, Measured>(
  describe: (results: Results, measured: Measured[]) => ScenarioReport,
) {
  return {
    document(results: Results, measured: Measured[]): Document {
      const described = describe(results, measured);
      const { caveats, verdicts = [], intro = medians(results), table, besides = [], more } = described;
      return {
        title: titleOf(results),
        blocks: [
          ...paragraph(caveats.join(" ")),
          ...list(verdicts),
          ...paragraph(prose(intro)),
          ...(Array.isArray(table) ? table.flatMap(headed) : [table]),
          ...besides.flatMap(headed),
          ...more.flatMap((part) => (typeof part === "string" ? paragraph(prose(part)) : part)),
          ...closing(described.systems, [...described.settings, serverLine(results.settings)], results.machine),
        ],
      };
    },
    report(results: Results): string {
      const { table, besides = [], verdicts = [], caveats } = describe(results, []);
      const parts = [
        ...[table, besides].flat().map(tableText),
        verdicts.map((text) => wrap(text)).join("\n"),
        wrap(caveats.join(" ")),
      ];
      return parts.filter(Boolean).join("\n\n");
    },
  };
}

export const medians = ({ settings }: Reported): string =>
  `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat.`;

/** In the order of every report: how much the run is worth, what its figures share the machine with, whose server it was. */
export function caveatsOf({ settings, interrupted }: Reported, indicative: string, shared: string): string[] {
  return [
    ...(settings.indicative ? [`Indicative only: ${indicative}`] : []),
    shared,
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}

/** The text of a column's cells: one figure over the repeats of a row. */
export const figureOf =
  <Figures>() =>
  <Row extends { measured: Figures[] }>(
    pick: (figures: Figures, row: Row) => number | null | undefined,
    format: (value: number) => string,
  ) =>
  (row: Row): string =>
    spread(spreadOf(row.measured.map((figures) => pick(figures, row))), format);
