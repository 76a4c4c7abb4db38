import { quotient } from "../measure/quotient.ts";
import type { Spread } from "../report/results.ts";
import { spreadOf } from "../report/summary.ts";
import type { CompareCell, CompareFigures, CompareResults } from "./compare-results.ts";

/** What the others are compared with. */
export const reference = "pgque";

/** All repeats of one system. */
export interface CompareRow {
  system: string;
  /** Only those with figures. */
  measured: CompareFigures[];
  /** Within each repeat: finished messages a second of pgque over this one's, without the horizon held. */
  ratioClean: Spread | null;
  /** The same with the horizon held. */
  ratioHeld: Spread | null;
  errors: string[];
  notRun: string[];
}

/** In the order of the settings. */
export function compareRows({ cells, settings }: CompareResults): CompareRow[] {
  const of = (system: string): CompareCell[] => cells.filter((cell) => cell.system === system);
  const pgque = of(reference);
  return settings.systems.flatMap((system): CompareRow[] => {
    const own = of(system);
    if (own.length === 0) return [];
    return [
      {
        system,
        measured: own.flatMap(({ figures }) => figures ?? []),
        ratioClean: ratioOf(pgque, own, ({ clean }) => clean.finishedPerSecond),
        ratioHeld: ratioOf(pgque, own, ({ held }) => held.finishedPerSecond),
        errors: own.flatMap(({ error }) => error ?? []),
        notRun: own.flatMap(({ notRun }) => notRun ?? []),
      },
    ];
  });
}

function ratioOf(pgque: CompareCell[], own: CompareCell[], pick: (figures: CompareFigures) => number): Spread | null {
  return spreadOf(
    own.map(({ repeat, figures }) => {
      const against = pgque.find((cell) => cell.repeat === repeat)?.figures;
      return figures === null || !against ? null : quotient(pick(against), pick(figures));
    }),
  );
}

/** All that the reader should know of the run before the numbers. */
export function compareCaveats({ settings, interrupted }: CompareResults): string[] {
  return [
    ...(settings.indicative ? ["Indicative only: short phases, and once."] : []),
    "The harness shares the cores with the servers: compare ratios, not rates.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
