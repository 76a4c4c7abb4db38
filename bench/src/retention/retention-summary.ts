import { quotient, spreadOf } from "../measure/statistics.ts";
import { disturbed } from "../report/scenario-report.ts";
import type { Spread } from "../report/results.ts";
import type { RetentionFigures, RetentionResults } from "./retention-results.ts";
import { intervalOf } from "./retention-settings.ts";

/** What the intervals are compared with. */
export const reference = "none";

/** All repeats of one queue with one interval. */
export interface RetentionRow {
  system: string;
  interval: string;
  /** Only those with figures. */
  measured: RetentionFigures[];
  /** Within each repeat, with the same queue: transactions a second over those without a slot. */
  ratio: Spread | null;
  errors: string[];
  notRun: string[];
}

/** In the order of the settings, systems together. */
export function retentionRows({ cells, settings }: Pick<RetentionResults, "cells" | "settings">): RetentionRow[] {
  return settings.systems.flatMap((system) =>
    settings.intervals.flatMap((interval): RetentionRow[] => {
      const same = cells.filter((cell) => cell.system === system);
      const own = same.filter((cell) => cell.interval === interval);
      if (own.length === 0) return [];
      const ratios = own.map(({ repeat, figures }) => {
        const without = same.find((cell) => cell.interval === reference && cell.repeat === repeat)?.figures;
        return quotient(figures?.transactionsPerSecond ?? null, without?.transactionsPerSecond ?? null);
      });
      return [
        {
          system,
          interval,
          measured: own.flatMap(({ figures }) => figures ?? []),
          ratio: interval === reference ? null : spreadOf(ratios),
          errors: own.flatMap(({ error }) => error ?? []),
          notRun: own.flatMap(({ notRun }) => notRun ?? []),
        },
      ];
    }),
  );
}

/** "none", "dynamic", "10 ms", "100 s" */
export function intervalText(name: string): string {
  const interval = intervalOf(name);
  if (typeof interval !== "number") return name;
  return interval % 1000 === 0 ? `${interval / 1000} s` : `${interval} ms`;
}

/** All that the reader should know of the run before the numbers. */
export function retentionCaveats({ settings, machine, cells, interrupted }: RetentionResults): string[] {
  const measured = cells.flatMap(({ system, interval, figures }) =>
    figures === null ? [] : [{ name: `${system}, ${interval}`, seconds: settings.seconds, ...figures }],
  );
  return [
    ...(settings.indicative ? ["Indicative only: short cells, and few."] : []),
    "Not pgbench: the load is a Node client, and it shares the cores with the server; compare ratios, not rates.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...disturbed(measured, machine.cores),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
