import type { Document } from "./document.ts";
import { htmlPage } from "./html/page.ts";
import { markdown } from "./markdown.ts";

/** The report to be read in a terminal or on a forge, and the same to be opened in a browser. */
export function reportFiles(document: Document): Record<string, string> {
  return { "report.md": markdown(document), "report.html": htmlPage(document) };
}
