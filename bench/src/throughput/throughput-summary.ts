import { quotient } from "../measure/quotient.ts";
import type { Spread } from "../report/results.ts";
import { spreadOf } from "../report/summary.ts";
import { publishedNote } from "./published.ts";
import { sameLoad, throughputLoads, type ThroughputLoad } from "./throughput-loads.ts";
import type { ThroughputFigures, ThroughputResults } from "./throughput-results.ts";

/** What the others are compared with. */
export const reference = "pgque";

/** All repeats of one system under one load. */
export interface ThroughputRow {
  system: string;
  load: ThroughputLoad;
  /** Only those with figures. */
  measured: ThroughputFigures[];
  /** Within each repeat: messages a second of pgque over this one's. */
  ratio: Spread | null;
  errors: string[];
  notRun: string[];
}

/** Loads in the order in which they are run, and in each the systems in the order of the settings. */
export function throughputRows({ cells, settings }: ThroughputResults): ThroughputRow[] {
  return throughputLoads(settings).flatMap((load) => {
    const loaded = cells.filter((cell) => sameLoad(cell, load));
    const of = (name: string) => loaded.filter(({ system }) => system === name);
    return settings.systems.flatMap((system): ThroughputRow[] => {
      const own = of(system);
      if (own.length === 0) return [];
      const ratios = own.map(({ repeat, figures }) => {
        const against = of(reference).find((cell) => cell.repeat === repeat)?.figures;
        return figures === null || !against ? null : quotient(against.messagesPerSecond, figures.messagesPerSecond);
      });
      return [
        {
          system,
          load,
          measured: own.flatMap(({ figures }) => figures ?? []),
          ratio: spreadOf(ratios),
          errors: own.flatMap(({ error }) => error ?? []),
          notRun: own.flatMap(({ notRun }) => notRun ?? []),
        },
      ];
    });
  });
}

/** All that the reader should know of the run before the numbers. */
export function throughputCaveats({ settings, interrupted }: ThroughputResults): string[] {
  return [
    ...(settings.indicative ? ["Indicative only: short cells, smaller batches, and once."] : []),
    "The client shares the cores with the server: compare ratios, not rates.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
    publishedNote,
  ];
}
