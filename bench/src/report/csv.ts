type Figure = string | number | null;

/** One line for each sample of every cell. All samples have the same fields. */
export function samplesCsv(cells: { samples: object[] }[]): string {
  const lines = cells.flatMap(({ samples, ...cell }) =>
    samples.map((sample): Record<string, Figure> => ({ ...cell, ...sample })),
  );
  const head = lines.slice(0, 1).map((line) => Object.keys(line).join(","));
  const body = lines.map((line) => Object.values(line).map(value).join(","));
  return [...head, ...body, ""].join("\n");
}

function value(figure: Figure): string {
  if (figure === null) return "";
  return typeof figure === "number" && !Number.isInteger(figure) ? figure.toFixed(3) : String(figure);
}
