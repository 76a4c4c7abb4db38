import type { CellSamples } from "./results.ts";

/** One line for each sample of every cell. */
export function samplesCsv(cells: CellSamples[]): string {
  const lines = cells.flatMap(({ samples, ...cell }) => samples.map((sample) => ({ ...cell, ...sample })));
  const head = lines.slice(0, 1).map((line) => Object.keys(line).join(","));
  const body = lines.map((line) => Object.values(line).map(value).join(","));
  return [...head, ...body, ""].join("\n");
}

function value(figure: string | number | null): string {
  if (figure === null) return "";
  return typeof figure === "number" && !Number.isInteger(figure) ? figure.toFixed(3) : String(figure);
}
