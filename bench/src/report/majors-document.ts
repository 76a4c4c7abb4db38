import {
  heading,
  paragraph,
  type Block,
  type Document,
  type TableBlock,
  type TableRow,
  type Text,
} from "./document.ts";

/** What was measured on one server, in a report of its own. */
export interface MajorDocument {
  /** As in "17.10". */
  postgres: string;
  document: Document;
}

/**
 * One report of those of several majors. Each of them was made from its own trials alone, so that no figure mixes two. What all of them say alike is said
 * once, before and after the rest; their tables are put together, with a column for the major; what else each has follows below a heading of its own.
 *
 * @param skipped a major that could not be started, and why
 */
export function documentOfMajors(parts: MajorDocument[], skipped: { major: number; reason: string }[]): Document {
  const documents = parts.map(({ document }) => document.blocks);
  const before = introduction(common(documents));
  const rests = documents.map((blocks) => blocks.slice(before.length));
  const after = common(rests.map((blocks) => blocks.toReversed())).toReversed();
  const own = rests.map((blocks) => blocks.slice(0, blocks.length - after.length));
  const shared = new Shared(own, parts);
  return {
    title: parts[0]?.document.title ?? "",
    blocks: [
      ...before,
      ...paragraph(inTurnText(parts)),
      ...shared.blocks(),
      ...parts.flatMap(({ postgres }, index) =>
        section(
          `PostgreSQL ${postgres}`,
          (own[index] ?? []).filter((block) => shared.of(block) === null),
        ),
      ),
      ...skipped.flatMap(({ major, reason }) => [
        heading(`PostgreSQL ${major}`),
        ...paragraph(`skipped, because ${reason}`),
      ]),
      ...after,
    ],
  };
}

function inTurnText(parts: MajorDocument[]): string {
  const versions = parts.map(({ postgres }) => postgres).join(", ");
  if (parts.length === 1) return `On PostgreSQL ${versions}.`;
  return `On PostgreSQL ${versions}, in turn: what is measured on one is measured on the others before anything else is. All servers run all the time, those of the others idle. Ratios and ranges are among the trials of one.`;
}

const same = (one: Block, other: Block | undefined): boolean => JSON.stringify(one) === JSON.stringify(other);

/** What all begin with; figures, even if they are the same, are each major's own. */
function common([first = [], ...others]: Block[][]): Block[] {
  const isOwn = (block: Block, index: number): boolean =>
    block.kind === "table" || block.kind === "charts" || others.some((blocks) => !same(block, blocks[index]));
  const differs = first.findIndex(isOwn);
  return differs === -1 ? first : first.slice(0, differs);
}

/** Before the first part that has a heading. */
function introduction(blocks: Block[]): Block[] {
  const first = blocks.findIndex(({ kind }) => kind === "heading");
  return first === -1 ? blocks : blocks.slice(0, first);
}

/** What all have: tables of the same caption and columns, paragraphs and lists that say the same. */
class Shared {
  readonly #own: Block[][];
  readonly #tables: TableBlock[];

  constructor(own: Block[][], parts: MajorDocument[]) {
    this.#own = own;
    this.#tables = (own[0] ?? [])
      .filter((block) => block.kind === "table")
      .flatMap((first) => {
        const alike = own.flatMap((blocks) => blocks.find((one) => one.kind === "table" && isAlike(one, first)) ?? []);
        return alike.length === own.length ? [together(alike as TableBlock[], parts)] : [];
      });
  }

  /** What stands for it in the report of all; null when it is a major's own. */
  of(block: Block): Block | null {
    if (block.kind === "table") return this.#tables.find(({ caption }) => caption === block.caption) ?? null;
    const says = block.kind === "paragraph" || block.kind === "list";
    return says && this.#own.every((blocks) => blocks.some((one) => same(one, block))) ? block : null;
  }

  /** In their order, each table below its caption, with what is said in the same part of the report. */
  blocks(): Block[] {
    return partsOf(this.#own[0] ?? []).flatMap((part) => {
      const found = part.flatMap((block) => this.of(block) ?? []);
      const [first, ...others] = found.filter((block) => block.kind === "table");
      if (first === undefined) return found;
      const titled = found.flatMap((block) =>
        others.some((one) => one === block) ? [heading((block as TableBlock).caption), block] : [block],
      );
      return [heading(first.caption), ...titled];
    });
  }
}

/** From one heading to the next. */
function partsOf(blocks: Block[]): Block[][] {
  const parts: Block[][] = [[]];
  for (const block of blocks) {
    if (block.kind === "heading") parts.push([]);
    else parts.at(-1)?.push(block);
  }
  return parts;
}

const isAlike = (one: TableBlock, other: TableBlock): boolean =>
  one.caption === other.caption && one.heads.join("\n") === other.heads.join("\n");

/** Rows of the same trial one below the other, each major's own. */
function together(tables: TableBlock[], parts: MajorDocument[]): TableBlock {
  const [first] = tables as [TableBlock];
  const { textColumns, caption, heads } = first;
  const identity = ({ cells }: TableRow): string => cells.slice(0, textColumns).join("\n");
  const rows = tables.flatMap((table, index) =>
    table.rows.map((row) => ({ row, postgres: parts[index]?.postgres ?? "" })),
  );
  const identities = [...new Set(rows.map(({ row }) => identity(row)))];
  return {
    kind: "table",
    caption,
    heads: heads.toSpliced(textColumns, 0, "PostgreSQL"),
    textColumns: textColumns + 1,
    rows: identities.flatMap((one) =>
      rows
        .filter(({ row }) => identity(row) === one)
        .map(({ row, postgres }) => ({ ...row, cells: row.cells.toSpliced(textColumns, 0, postgres) })),
    ),
  };
}

/** Headings say whose they are; those with nothing below them are left out. */
function section(name: string, blocks: Block[]): Block[] {
  const filled = blocks.filter(({ kind }, index) => kind !== "heading" || (blocks[index + 1]?.kind ?? kind) !== kind);
  if (filled.length === 0) return [];
  return [
    heading(name),
    ...filled.map((block) => {
      if (block.kind === "heading") return heading(suffixed(block.text, name));
      return block.kind === "table" ? { ...block, caption: `${block.caption}, ${name}` } : block;
    }),
  ];
}

const suffixed = (text: Text, name: string): Text =>
  typeof text === "string" ? `${text}, ${name}` : [...text, `, ${name}`];
