import type { Block, Document, Item, Mark, TableBlock, TableRow, Text } from "../document.ts";
import { chartsSection } from "./charts-section.ts";
import { html, type Html } from "./escape.ts";

/** What a page shows of a document: a list of its headings, and its blocks one after the other. */
export function body({ title, blocks }: Document): Html {
  const headings = blocks.filter((block) => block.kind === "heading");
  const entry = (block: (typeof headings)[number]): Html =>
    html`<li><a href="#${anchor("part", blocks.indexOf(block))}">${inline(block.text)}</a></li>`;
  return html`<header>
      <h1>${inline(title)}</h1>
      <nav aria-label="Contents">
        <ul>
          ${headings.map(entry)}
        </ul>
      </nav>
    </header>
    <main>${blocks.map((block, index) => rendered(block, index, blocks))}</main>`;
}

const anchor = (kind: "part" | "table" | "charts", index: number): string => `${kind}-${index}`;

function rendered(block: Block, index: number, blocks: Block[]): Html {
  switch (block.kind) {
    case "heading":
      return html`<h2 id="${anchor("part", index)}">${inline(block.text)}</h2> `;
    case "paragraph":
      return html`<p>${inline(block.text)}</p> `;
    case "list":
      return html`<ul>
        ${block.items.map(item)}
      </ul> `;
    case "table":
      return table(block, anchor("table", index), isTitled(block, blocks.slice(0, index)));
    default:
      return chartsSection(anchor("charts", index), block.data, (head) => tableWith(head, blocks, index));
  }
}

function item({ text, items }: Item): Html {
  const inner =
    items.length === 0
      ? ""
      : html`<ul>
          ${items.map((one) => html`<li>${inline(one)}</li>`)}
        </ul>`;
  return html`<li>${inline(text)}${inner}</li> `;
}

const inline = (text: Text): Html[] =>
  (typeof text === "string" ? [text] : text).map((part) => (typeof part === "string" ? html`${part}` : mark(part)));

function mark({ kind, text }: Mark): Html {
  if (kind === "strong") return html`<strong>${text}</strong>`;
  return kind === "emphasis" ? html`<em>${text}</em>` : html`<code>${text}</code>`;
}

/** Whether the heading above a table says what its caption says. */
const isTitled = ({ caption }: TableBlock, before: Block[]): boolean =>
  before.findLast((block) => block.kind === "heading")?.text === caption;

/** In an element that scrolls, and that the keyboard reaches: some tables are wider than a screen. */
function table(block: TableBlock, id: string, titled: boolean): Html {
  const { caption, heads, rows, textColumns } = block;
  const head = (text: string, index: number): Html => {
    if (text === "") return html`<td></td>`;
    return html`<th scope="col" ${index < textColumns ? "" : html` class="number"`}>${text}</th>`;
  };
  return html`<div class="scroll" role="region" tabindex="0" aria-labelledby="${id}">
    <table>
      <caption id="${id}" ${titled ? html` class="unseen"` : ""}>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads.map(head)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => tableRow(row, block))}
      </tbody>
    </table>
  </div> `;
}

function tableRow({ cells, absence }: TableRow, { heads, textColumns }: TableBlock): Html {
  const shown = cells.map((cell, index) =>
    index < textColumns ? html`<th scope="row">${cell}</th>` : html`<td class="number">${cell}</td>`,
  );
  const absent =
    absence === null ? "" : html`<td class="absent" colspan="${heads.length - textColumns}">${absence}</td>`;
  return html`<tr>
    ${shown}${absent}
  </tr> `;
}

/** Where the figures of a chart are: the table above it that has a column of that name, the nearest being that of its own major; else one below. */
function tableWith(head: string, blocks: Block[], before: number): { id: string; caption: string } | null {
  const has = (block: Block): boolean => block.kind === "table" && block.heads.includes(head);
  const above = blocks.slice(0, before).findLastIndex(has);
  const index = above === -1 ? blocks.findIndex(has) : above;
  const found = blocks[index];
  return found?.kind === "table" ? { id: anchor("table", index), caption: found.caption } : null;
}
