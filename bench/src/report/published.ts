import { headed, paragraph, prose, type Block } from "./document.ts";

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
