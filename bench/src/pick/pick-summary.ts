import { quotient } from "../measure/quotient.ts";
import type { Spread } from "../report/results.ts";
import { spreadOf } from "../report/summary.ts";
import type { PickFigures, PickResults } from "./pick-results.ts";
import type { Picker } from "../adapters/adapter.ts";
import { named, pickers } from "../adapters/registry.ts";

/** What the others are compared with. */
export const reference = "skip-locked";

/** All repeats of one picker. */
export interface PickRow {
  picker: Picker;
  jobs: number;
  /** Only those with figures. */
  measured: PickFigures[];
  /** Within each repeat: the seconds of skip-locked over this one's. */
  ratio: Spread | null;
  errors: string[];
  notRun: string[];
}

/** In the order of the settings. */
export function pickRows({ cells, settings }: PickResults): PickRow[] {
  return settings.systems.flatMap((name): PickRow[] => {
    const own = cells.filter(({ system }) => system === name);
    if (own.length === 0) return [];
    const ratios = own.map(({ repeat, figures }) => {
      const against = cells.find((cell) => cell.system === reference && cell.repeat === repeat)?.figures;
      return figures === null || !against ? null : quotient(against.seconds, figures.seconds);
    });
    return [
      {
        picker: named(pickers, name),
        jobs: settings.jobs,
        measured: own.flatMap(({ figures }) => figures ?? []),
        ratio: spreadOf(ratios),
        errors: own.flatMap(({ error }) => error ?? []),
        notRun: own.flatMap(({ notRun }) => notRun ?? []),
      },
    ];
  });
}

/** All that the reader should know of the run before the numbers. */
export function pickCaveats({ settings, interrupted }: PickResults): string[] {
  return [
    ...(settings.indicative ? ["Indicative only: few jobs, and once."] : []),
    "The workers share the cores with the server: compare ratios, not seconds.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
