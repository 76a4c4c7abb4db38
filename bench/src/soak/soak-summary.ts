import { disturbed } from "../report/scenario-report.ts";
import { spread } from "../report/format.ts";
import { repeatText } from "../runner/cells.ts";
import { driftMeasureNamed } from "./drift-measures.ts";
import type { Drift } from "./drift.ts";
import type { SoakCell, SoakFigures, SoakResults } from "./soak-results.ts";

/** All repeats of one system under one horizon. */
export interface SoakRow {
  system: string;
  horizon: string;
  /** Only those with figures. */
  measured: SoakFigures[];
  errors: string[];
  notRun: string[];
}

/** One measure of one cell; of a cell without figures one row that says why. */
export interface DriftRow {
  /** With the repeat, where there are several. */
  system: string;
  horizon: string;
  measured: Drift[];
  errors: string[];
  notRun: string[];
}

/** In the order of the settings, systems together. */
export function soakRows({ cells, settings }: SoakResults): SoakRow[] {
  return settings.systems.flatMap((system) =>
    settings.horizons.flatMap((horizon): SoakRow[] => {
      const own = cells.filter((cell) => cell.system === system && cell.horizon === horizon);
      if (own.length === 0) return [];
      return [
        {
          system,
          horizon,
          measured: own.flatMap(({ figures }) => figures ?? []),
          errors: own.flatMap(({ error }) => error ?? []),
          notRun: own.flatMap(({ notRun }) => notRun ?? []),
        },
      ];
    }),
  );
}

/** In the order in which cells were run. */
export function driftRows({ cells }: SoakResults): DriftRow[] {
  return cells.flatMap((cell): DriftRow[] => {
    const own = { system: cell.system + repeatText(cell.repeat), horizon: cell.horizon };
    if (cell.figures !== null) {
      return cell.figures.drifts.map((drift) => ({ ...own, measured: [drift], errors: [], notRun: [] }));
    }
    const reasons = { errors: [cell.error ?? []].flat(), notRun: [cell.notRun ?? []].flat() };
    return [{ ...own, measured: [], ...reasons }];
  });
}

/** A slope with its range, in the unit of the measure. */
export function perHourText({ measure, perHour }: Drift): string {
  const { format } = driftMeasureNamed(measure);
  return spread(perHour, (value) => (value < 0 ? `-${format(-value)}` : format(value)));
}

/** One sentence for each cell: what grows, and of what nothing can be said. */
export function soakVerdicts({ cells }: SoakResults): string[] {
  return cells.map((cell) => `${cell.system}, ${cell.horizon}${repeatText(cell.repeat)}: ${verdictOf(cell)}`);
}

/** What grows in a cell, and what does not; or why it has no figures. */
export function verdictOf({ figures, error, notRun }: SoakCell): string {
  if (figures === null) return error === null ? `not run, because ${notRun}` : `error: ${error}`;
  const named = (verdict: Drift["verdict"], text: (drift: Drift) => string): string =>
    figures.drifts
      .filter((drift) => drift.verdict === verdict)
      .map(text)
      .join(", ");
  const title = ({ measure }: Drift): string => driftMeasureNamed(measure).title;
  return [
    ["grows", named("grows", (drift) => `${title(drift)} by ${perHourText(drift)} an hour`)],
    ["flat", named("flat", title)],
    ["too short to say", named("too short to say", title)],
  ]
    .filter(([, measures]) => measures !== "")
    .map(([verdict, measures]) => `${verdict}: ${measures}`)
    .join("; ");
}

/** All that the reader should know of the run before the numbers. */
export function soakCaveats({ cells, settings, machine, interrupted }: SoakResults): string[] {
  return [
    ...(settings.indicative
      ? [`Indicative only: ${settings.seconds} s a cell. Half an hour and longer says something.`]
      : []),
    "The harness shares the cores with an embedded server.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...disturbed(
      cells.flatMap(({ system, horizon, figures }) =>
        figures === null ? [] : { name: `${system}, ${horizon}`, ...figures },
      ),
      machine.cores,
    ),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
