import type { ChartData } from "./html/chart-data.ts";

/** A report, whatever it is written as: report.md and report.html are two renderings of one. */
export interface Document {
  title: Text;
  blocks: Block[];
}

export type Block =
  | { kind: "heading"; text: Text }
  | { kind: "paragraph"; text: Text }
  | { kind: "list"; items: Item[] }
  | TableBlock
  /** Drawn in report.html. */
  | { kind: "charts"; data: ChartData };

export interface TableBlock {
  kind: "table";
  /** What the table is called where it is referred to; report.md does without. */
  caption: string;
  heads: string[];
  /** The first columns are text and say which row it is, the others are numbers. */
  textColumns: number;
  rows: TableRow[];
}

/** With an absence, the reason why there are no figures, `cells` are those of the text columns alone. */
export interface TableRow {
  cells: string[];
  absence: string | null;
}

export interface Item {
  text: Text;
  items: Text[];
}

/** A string is data, and is shown as it is, whatever characters are in it. Marks are made by `prose`. */
export type Text = string | (string | Mark)[];

export interface Mark {
  kind: "strong" | "emphasis" | "code";
  text: string;
}

/** Our own words, with `code`, **strong** and *emphasis* as in Markdown. Not for what comes from outside, such as an error. */
export function prose(markdown: string): Text {
  const marks = /`(?<code>[^`]+)`|\*\*(?<strong>[^*]+)\*\*|\*(?<emphasis>[^\s*][^*]*)\*/g;
  const text: (string | Mark)[] = [];
  let from = 0;
  for (const found of markdown.matchAll(marks)) {
    text.push(markdown.slice(from, found.index));
    const { code, strong, emphasis = "" } = found.groups ?? {};
    if (code !== undefined) text.push({ kind: "code", text: code });
    else if (strong !== undefined) text.push({ kind: "strong", text: strong });
    else text.push({ kind: "emphasis", text: emphasis });
    from = found.index + found[0].length;
  }
  return [...text, markdown.slice(from)].filter((part) => part !== "");
}

export const heading = (text: Text): Block => ({ kind: "heading", text });

/** A table with its caption above it. */
export const headed = (table: TableBlock): Block[] => [heading(table.caption), table];

/** The charts of a run. */
export const overTime = (data: ChartData): Block[] => [heading("Over time"), { kind: "charts", data }];

/** Nothing, where there is nothing to say. */
export const paragraph = (text: Text): Block[] => (text.length === 0 ? [] : [{ kind: "paragraph", text }]);

/** Nothing, where there is nothing to say. */
export const list = (items: (Text | Item)[]): Block[] =>
  items.length === 0
    ? []
    : [
        {
          kind: "list",
          items: items.map((item) =>
            typeof item === "string" || Array.isArray(item) ? { text: item, items: [] } : item,
          ),
        },
      ];

/** A system, a sender or a worker, in its author's words. */
export function described({ name, summary, settings }: { name: string; summary: string; settings: string[] }): Item {
  return { text: prose(`**${name}**: ${summary}.`), items: settings.map(prose) };
}

/** "Benchmark `xmin`, 2026-01-31 08:05 UTC" */
export function titleOf({ scenario, startedAt }: { scenario: string; startedAt: string }): Text {
  return prose(`Benchmark \`${scenario}\`, ${startedAt.slice(0, 16).replace("T", " ")} UTC`);
}
