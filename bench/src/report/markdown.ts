import type { Block, Document, Item, Mark, TableBlock, Text } from "./document.ts";

/** report.md. */
export function markdown({ title, blocks }: Document): string {
  return [`# ${inline(title)}`, ...blocks.map(block)].join("\n\n").concat("\n");
}

function block(part: Block): string {
  switch (part.kind) {
    case "heading":
      return `## ${inline(part.text)}`;
    case "paragraph":
      return inline(part.text);
    case "list":
      return part.items.map(item).join("\n");
    case "table":
      return table(part);
    default:
      return "Samples over time are in `samples.csv`, and drawn in `report.html`.";
  }
}

function item({ text, items }: Item): string {
  return [`- ${inline(text)}`, ...items.map((inner) => `  - ${inline(inner)}`)].join("\n");
}

function table({ heads, rows, textColumns }: TableBlock): string {
  const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  const rule = heads.map((_, index) => (index < textColumns ? "---" : "--:"));
  const body = rows.map(({ cells, absence }) =>
    heads.map((_, index) => cell((index === textColumns ? absence : null) ?? cells[index] ?? "")),
  );
  return [heads.map(cell), rule, ...body].map(line).join("\n");
}

const cell = (text: string): string => plain(text).replaceAll("|", String.raw`\|`);

const markers: Record<Mark["kind"], string> = { strong: "**", emphasis: "*", code: "`" };

function inline(text: Text): string {
  const parts = typeof text === "string" ? [text] : text;
  return parts
    .map((part) => (typeof part === "string" ? plain(part) : `${markers[part.kind]}${part.text}${markers[part.kind]}`))
    .join("");
}

/** What would be taken for a line or a tag of its own: errors may have both. */
const plain = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ").replaceAll("<", String.raw`\<`);
