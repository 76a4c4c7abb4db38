import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { samplesCsv } from "./csv.ts";
import { markdownReport } from "./md.ts";
import type { CellSamples, Results } from "./results.ts";

/** `results/2026-01-31T08-05-00-xmin` below the current folder, unless another was asked for. */
export function resultsFolder(asked: string | null, scenario: string, startedAt: Date): string {
  const stamp = startedAt.toISOString().slice(0, 19).replaceAll(":", "-");
  return path.resolve(asked ?? path.join("results", `${stamp}-${scenario}`));
}

/** Tried before the first cell: two minutes of measuring should not end at a folder that cannot be written. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
}

export async function writeFolder(folder: string, results: Results, samples: CellSamples[]): Promise<void> {
  await Promise.all([
    writeFile(path.join(folder, "results.json"), `${JSON.stringify(results, null, 2)}\n`),
    writeFile(path.join(folder, "samples.csv"), samplesCsv(samples)),
    writeFile(path.join(folder, "report.md"), markdownReport(results)),
  ]);
}
