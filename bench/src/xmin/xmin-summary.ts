import type { Spread } from "../report/results.ts";
import { absence as absenceOf } from "../report/table.ts";
import { spreadOf } from "../measure/statistics.ts";
import { hasFigures, type CellResult, type Results } from "./xmin-results.ts";

/** All repeats of one system under one horizon. */
export interface Row {
  system: string;
  horizon: string;
  /** Only those with figures. */
  cells: CellResult[];
  errors: string[];
  notRun: string[];
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
          cells: cells.filter(hasFigures),
          errors: cells.flatMap(({ error }) => error ?? []),
          notRun: cells.flatMap(({ notRun }) => notRun ?? []),
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

/** One figure of a row over its repeats. */
export function spreadIn(row: Row, pick: (cell: CellResult) => number | null | undefined): Spread | null {
  return spreadOf(row.cells.map(pick));
}

/** What stands in a row without figures in place of them; a cell that is invalid says so in its reason. */
export function absence({ cells, errors, notRun }: Row): string | null {
  if (cells.length > 0) return null;
  return errors[0]?.startsWith("invalid: ") ? errors[0] : absenceOf({ measured: cells, errors, notRun });
}
