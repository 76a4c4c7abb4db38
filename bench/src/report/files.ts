import type { Document } from "./document.ts";
import { htmlPage } from "./html/page.ts";
import { markdown } from "./markdown.ts";
import { redact } from "@pgque/client/redact";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

/** The report to be read in a terminal or on a forge, and the same to be opened in a browser. */
export function reportFiles(document: Document): Record<string, string> {
  return { "report.md": markdown(document), "report.html": htmlPage(document) };
}

/** `results/2026-01-31T08-05-00-xmin` below the current folder, unless another was asked for. */
export function resultsFolder(asked: string | null, scenario: string, startedAt: Date): string {
  const stamp = startedAt.toISOString().slice(0, 19).replaceAll(":", "-");
  return path.resolve(asked ?? path.join("results", `${stamp}-${scenario}`));
}

/** Tried before the first trial: two minutes of measuring should not end at a folder that cannot be written. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
}

/** `texts`: by file name, besides results.json. They are made of the results, whose failures have no secrets; the rest of the results is seen to here. */
export async function writeFolder(folder: string, results: object, texts: Record<string, string>): Promise<void> {
  const files = { "results.json": `${JSON.stringify(results, withoutSecrets, 2)}\n`, ...texts };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(path.join(folder, name), text)));
}

function withoutSecrets(_name: string, value: unknown): unknown {
  return typeof value === "string" ? redact(value) : value;
}

type Figure = string | number | null;

/** One line for each sample of every trial. All samples have the same fields. */
export function samplesCsv(trials: { samples: object[] }[]): string {
  const lines = trials.flatMap(({ samples, ...trial }) =>
    samples.map((sample): Record<string, Figure> => ({ ...trial, ...sample })),
  );
  const head = lines.slice(0, 1).map((line) => Object.keys(line).join(","));
  const body = lines.map((line) => Object.values(line).map(value).join(","));
  return [...head, ...body, ""].join("\n");
}

function value(figure: Figure): string {
  if (figure === null) return "";
  return typeof figure === "number" && !Number.isInteger(figure) ? figure.toFixed(3) : String(figure);
}
