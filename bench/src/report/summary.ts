import type { CellResult, Results, Spread } from "./results.ts";

/** All repeats of one system under one horizon. */
export interface Row {
  system: string;
  horizon: string;
  /** Only those with figures. */
  cells: CellResult[];
  errors: string[];
  /** Finished messages a second, held over `none` of the same repeat; null for `none` itself. */
  heldToNone: Spread | null;
}

/** In the order in which the cells were first run, systems together. */
export function rowsOf(results: Results): Row[] {
  const { systems, horizons } = results.settings;
  return systems.flatMap((system) =>
    horizons.flatMap((horizon) => {
      const cells = results.cells.filter((cell) => cell.system === system && cell.horizon === horizon);
      if (cells.length === 0) return [];
      return [
        {
          system,
          horizon,
          cells: cells.filter(({ error }) => error === null),
          errors: cells.flatMap(({ error }) => error ?? []),
          heldToNone: horizon === "none" ? null : heldToNone(results.cells, cells),
        },
      ];
    }),
  );
}

function heldToNone(all: CellResult[], held: CellResult[]): Spread | null {
  const ratios = held.map((cell) => {
    const none = all.find(
      ({ system, horizon, repeat }) => system === cell.system && horizon === "none" && repeat === cell.repeat,
    );
    return cell.dequeuedPerSecond === null || !none?.dequeuedPerSecond
      ? null
      : cell.dequeuedPerSecond / none.dequeuedPerSecond;
  });
  return spreadOf(ratios);
}

/** Over what was measured; null when nothing was. */
export function spreadOf(values: (number | null | undefined)[]): Spread | null {
  const sorted = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? min;
  const lower = sorted[Math.ceil(middle) - 1] ?? min;
  return { median: (lower + upper) / 2, min, max };
}

/** One figure of a row over its repeats. */
export function spreadIn(row: Row, pick: (cell: CellResult) => number | null | undefined): Spread | null {
  return spreadOf(row.cells.map(pick));
}
