import type { DegradationFigures, DegradationResults } from "./degradation-results.ts";
import { degradedSystems, named } from "../adapters/registry.ts";

/** All repeats of one system, or what was published of it. */
export interface DegradationRow {
  name: string;
  /** Whether these are figures of somebody else. */
  published: boolean;
  /** Only those with figures; of published ones, what there is. */
  measured: Partial<DegradationFigures>[];
  errors: string[];
  notRun: string[];
}

/** In the order of the settings, what was published of a system below what was measured of it. */
export function degradationRows({ cells, settings }: Pick<DegradationResults, "cells" | "settings">): DegradationRow[] {
  return settings.systems.flatMap((name): DegradationRow[] => {
    const own = cells.filter(({ system }) => system === name);
    if (own.length === 0) return [];
    const { published } = named(degradedSystems, name);
    const row = {
      name,
      published: false,
      measured: own.flatMap(({ figures }) => figures ?? []),
      errors: own.flatMap(({ error }) => error ?? []),
      notRun: own.flatMap(({ notRun }) => notRun ?? []),
    };
    return published === undefined
      ? [row]
      : [row, { name: `${name}, published`, published: true, measured: [published], errors: [], notRun: [] }];
  });
}

/** Whose the published figures are, and what they may be compared with. */
export const publishedSource =
  'Published: Brandur Leach, "Postgres Job Queues & Failure By MVCC" and que-degradation-test (brandur.org, 2015): an hour at 50 jobs/s, on a machine of his.';

/** All that the reader should know of the run before the numbers. */
export function degradationCaveats({ settings, interrupted }: DegradationResults): string[] {
  const asPublished = settings.heldSeconds === 3600 && settings.rate === 50;
  return [
    ...(settings.indicative ? ["Indicative only: a short while, and once."] : []),
    publishedSource,
    ...(asPublished
      ? []
      : [`This run: ${settings.heldSeconds} s at ${settings.rate}/s, so that only the way it goes can be compared.`]),
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
