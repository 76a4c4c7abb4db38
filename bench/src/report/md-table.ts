/** A table of Markdown; the first columns are text, the others numbers. */
export function mdTable(heads: string[], rows: string[][], textColumns: number): string {
  const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map((_, index) => (index < textColumns ? "---" : "--:"))), ...rows.map(line)].join(
    "\n",
  );
}

export const mdItem = (text: string): string => `- ${text}`;
