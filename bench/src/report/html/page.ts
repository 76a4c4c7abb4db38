import { createHash } from "node:crypto";
import type { Document, Text } from "../document.ts";
import { body } from "./blocks.ts";
import { html, rawElement } from "./escape.ts";
import { pageScript, pageStyle } from "./page.gen.ts";

/** report.html: one file with everything in it. It may fetch nothing, and run nothing but the script that it came with. */
export function htmlPage(document: Document): string {
  const drawn = document.blocks.some(({ kind }) => kind === "charts");
  const policy = [
    "default-src 'none'",
    `style-src '${sha256(pageStyle)}'`,
    ...(drawn ? [`script-src '${sha256(pageScript)}'`] : []),
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${plain(document.title)}</title>
        ${rawElement("style", pageStyle)}
      </head>
      <body>
        ${body(document)} ${drawn ? rawElement("script", pageScript) : ""}
      </body>
    </html> `.text;
}

const sha256 = (text: string): string => `sha256-${createHash("sha256").update(text).digest("base64")}`;

const plain = (text: Text): string =>
  typeof text === "string" ? text : text.map((part) => (typeof part === "string" ? part : part.text)).join("");
