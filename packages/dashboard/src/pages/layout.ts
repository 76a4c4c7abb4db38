import { sanitize, sanitizeLines } from "@pgque/client/redact";
import { html } from "hono/html";
import type { Part } from "../reading/overview.ts";

/** Markup whose texts are escaped. */
export type Markup = ReturnType<typeof html>;

interface Page {
  title: string;
  body: Markup | Markup[];
  /** When what it shows was read, ISO 8601; absent: it does not change. */
  at?: string;
  refreshMs?: number;
}

/** A whole page. Everything that it links to is in the same folder, wherever that is mounted. */
export function layout({ title, body, at, refreshMs }: Page): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${sanitize(title)} · Pgque</title>
        <link rel="stylesheet" href="style.css" />
        <link rel="icon" href="icon.svg" type="image/svg+xml" />
        <script src="live.js" defer></script>
      </head>
      <body>
        <header>
          <nav aria-label="Pages">
            <a href="./">Pgque</a> <a href="consumers">Consumers</a> <a href="schedules">Schedules</a>
            <a href="horizon">Horizon</a>
          </nav>
          ${at === undefined ? "" : html`<p class="read" id="read">As of ${time(at)} · <a href="">Refresh</a></p>`}
        </header>
        <main id="main" ${refreshMs === undefined ? "" : html`data-refresh-ms="${refreshMs}"`}>${body}</main>
      </body>
    </html>`;
}

/** A page that says what went wrong. */
export function failurePage(title: string, text: string): Markup {
  const body = html`<h1>${title}</h1>
    <p class="failure">${sanitize(text)}</p>
    <p><a href="./">All queues</a></p>`;
  return layout({ title, body });
}

/** A time in UTC, which the script shows in the viewer's zone. */
export function time(at: Date | string | null): Markup {
  if (at === null) return html`<span class="none">never</span>`;
  const iso = (typeof at === "string" ? new Date(at) : at).toISOString();
  const utc = `${iso.slice(0, 19).replace("T", " ")} UTC`;
  return html`<time datetime="${iso}" title="${utc}">${utc}</time>`;
}

/** What somebody else has named: shown as it is spelled, whatever characters are in it. */
export function name(text: string): Markup {
  return html`<bdi>${sanitize(text)}</bdi>`;
}

/** A link to the page of a queue. */
export function queueLink(queue: string): Markup {
  return html`<a href="queue?name=${encodeURIComponent(queue)}">${name(queue)}</a>`;
}

/** A link to the page of a message. */
export function messageLink(queue: string, id: string): Markup {
  return html`<a href="message?${new URLSearchParams({ queue, id }).toString()}"><code>${id}</code></a>`;
}

/** One line of a list of facts. */
export function fact(term: string, value: Markup | string): Markup {
  return html`<div>
    <dt>${term}</dt>
    <dd>${value}</dd>
  </div>`;
}

/** Headers and a payload, of which so many characters are shown. */
export function jsonText(value: unknown, charsMax: number): string {
  const text = sanitizeLines(JSON.stringify(value, null, 2) ?? "");
  return text.length > charsMax ? `${text.slice(0, charsMax)}… (${text.length} characters in all)` : text;
}

/** Something that was read, or why it could not be. */
export function shown<Value>(part: Part<Value>, render: (value: Value) => Markup): Markup {
  return part.ok ? render(part.value) : html`<p class="failure">This cannot be read: ${sanitize(part.error)}</p>`;
}

/** A table. On a narrow screen it scrolls by itself. */
export function table(
  label: string,
  heads: readonly string[],
  rows: readonly (readonly (Markup | string | number)[])[],
): Markup {
  return html`<div class="table" role="region" aria-label="${label}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell) => html`<td${typeof cell === "number" ? html` class="number"` : ""}>${typeof cell === "number" ? cell.toLocaleString("en") : cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
