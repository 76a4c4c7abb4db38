import type { CellSamples } from "./results.ts";

/** One line for each sample of every cell. */
export function samplesCsv(cells: CellSamples[]): string {
  const lines = cells.flatMap(({ samples, ...cell }) => samples.map((sample) => ({ ...cell, ...sample })));
  const [first] = lines;
  if (first === undefined) return "";
  const names = Object.keys(first) as (keyof typeof first)[];
  const value = (figure: string | number | null): string =>
    typeof figure === "number" && !Number.isInteger(figure) ? figure.toFixed(3) : String(figure ?? "");
  return [names.join(","), ...lines.map((line) => names.map((name) => value(line[name])).join(","))].join("\n") + "\n";
}
