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
  heading,
} from "./document.ts";
import { spread, wrap, whole } from "./format.ts";
import { type Machine, serverLine, machineLine } from "./results.ts";
import { tableText } from "./table.ts";
import { spreadOf } from "../measure/statistics.ts";

/** What a scenario says of its results: rendered as report.md, report.html, and in a terminal. */
export interface ScenarioReport {
  /** What the run shows, before everything else. */
  headline?: string[];
  /** What the reader should know before the numbers. */
  caveats: string[];
  /** One sentence for each target. */
  verdicts?: string[];
  /** How the table is to be read. Default: that it has medians and ranges. */
  intro?: string;
  /** The answer; of several tables each has its caption above it in the report. */
  table: TableBlock | TableBlock[];
  /** What follows the tables, in the report only; a string is our own prose. */
  more: (string | Block)[];
  /** What a terminal shows at the end, a paragraph each. */
  after?: string[];
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
  describe: (results: Results, measured: Measured[], baseline: Results | null) => ScenarioReport,
) {
  return {
    document(results: Results, measured: Measured[], baseline: Results | null = null): Document {
      const described = describe(results, measured, baseline);
      const { headline = [], caveats, verdicts = [], intro = medians(results), table, more } = described;
      return {
        title: titleOf(results),
        blocks: [
          ...headline.flatMap((text) => paragraph([{ kind: "strong", text }])),
          ...list(verdicts),
          ...paragraph(caveats.join(" ")),
          ...paragraph(prose(intro)),
          ...(Array.isArray(table) ? table.flatMap(headed) : [table]),
          ...more.flatMap((part) => (typeof part === "string" ? paragraph(prose(part)) : part)),
          ...closing(described.systems, [...described.settings, serverLine(results.settings)], results.machine),
        ],
      };
    },
    report(results: Results, baseline: Results | null = null): string {
      const { headline = [], table, verdicts = [], caveats, after = [] } = describe(results, [], baseline);
      const parts = [
        ...headline.map((text) => wrap(text)),
        ...[table].flat().map(tableText),
        verdicts.map((text) => wrap(text)).join("\n"),
        wrap(caveats.join(" ")),
        ...after,
      ];
      return parts.filter(Boolean).join("\n\n");
    },
  };
}

export const medians = ({ settings }: Reported): string =>
  `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two trials of the same repeat.`;

/** In the order of every report: how much the run is worth, what its figures share the machine with, whose server it was. */
export function caveatsOf(
  { settings, interrupted }: Pick<Reported, "settings" | "interrupted">,
  indicative: string,
  shared: string,
  others: string[] = [],
): string[] {
  return [
    ...(settings.indicative ? [`Indicative only: ${indicative}`] : []),
    shared,
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...others,
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

/** How a report ends: all that is needed to judge it, and to run it again. */
export function closing(systems: (Text | Item)[], settings: string[], machine: Machine): Block[] {
  return [
    heading("What was run"),
    ...list(systems),
    heading("Settings"),
    ...list(settings),
    heading("Machine"),
    ...paragraph(machineLine(machine)),
  ];
}

/** The same, with the command that it came from. */
export function withCommand({ title, blocks }: Document, command: string | undefined): Document {
  if (command === undefined) return { title, blocks };
  return { title, blocks: [...blocks, heading("To run it again"), ...paragraph([{ kind: "code", text: command }])] };
}

/** What others have published of the same experiment, beside what was measured here. */
export interface Published {
  /** Whose figures they are, where from, and on what machine. */
  source: string;
  heads: string[];
  /** How many of the first columns say what it is. */
  textColumns: number;
  rows: string[][];
}

const title = "Beside what others published";

/** Nothing, where there is nothing to show beside it. */
export function publishedSection({ source, heads, textColumns, rows }: Published): Block[] {
  if (rows.length === 0) return [];
  return [
    ...headed({
      kind: "table",
      caption: title,
      heads,
      textColumns,
      rows: rows.map((cells) => ({ cells, absence: null })),
    }),
    ...paragraph(prose(source)),
  ];
}

/** Other programs may have this share of the cores before the reader is told. */
const othersShareMax = 0.1;

/** What a reader has to know when something else used the machine while it was measured: of the worst trial. */
export function noise(
  trials: { name: string; seconds: number; otherCpuSeconds: number | null }[],
  cores: number,
): string[] {
  const shares = trials.map(({ name, seconds, otherCpuSeconds }) => ({
    name,
    share: (otherCpuSeconds ?? 0) / (seconds * cores),
  }));
  const [worst] = shares.sort((a, b) => b.share - a.share);
  if (worst === undefined || worst.share < othersShareMax) return [];
  return [
    `Noise: other programs used up to ${whole(worst.share * 100)} % of the machine's CPU during a trial (${worst.name}).`,
  ];
}
