import { quotient } from "../measure/quotient.ts";
import { disturbed } from "../report/disturbed.ts";
import { ratio, spread } from "../report/format.ts";
import type { Spread } from "../report/results.ts";
import { spreadOf } from "../report/summary.ts";
import { outcomeLine, outcomeOf, type TargetOutcome } from "../targets/outcome.ts";
import { drainSystems, named } from "../adapters/registry.ts";
import type { Described } from "../adapters/adapter.ts";
import { systemsOf } from "./drain-plan.ts";
import type { DrainCell, DrainFigures, DrainResults } from "./drain-results.ts";

/** All repeats of one system with so many processes. */
export interface DrainRow {
  system: Described;
  processes: number;
  /** Only those with figures. */
  measured: DrainFigures[];
  /** Within each repeat: the rate of pgque over this one's. */
  ratio: Spread | null;
  /** How much less CPU, server and workers together, pgque uses for a message than this one; within each repeat. */
  cpuRatio: Spread | null;
  errors: string[];
  notRun: string[];
}

/** What the others are compared with. */
export const reference = "pgque";

/** In the order of the tables. */
export function drainRows({ cells, settings }: DrainResults): DrainRow[] {
  const of = (system: string, processes: number): DrainCell[] =>
    cells.filter((cell) => cell.system === system && cell.processes === processes);
  return settings.processes.flatMap((processes) =>
    systemsOf(settings).flatMap((name): DrainRow[] => {
      const own = of(name, processes);
      if (own.length === 0) return [];
      const pgque = of(reference, processes);
      return [
        {
          system: named(drainSystems, name),
          processes,
          measured: own.flatMap(({ figures }) => figures ?? []),
          ratio: ratioOf(pgque, own, (figures) => figures.messagesPerSecond),
          cpuRatio: ratioOf(pgque, own, messagesPerCpuSecond),
          errors: own.flatMap(({ error }) => error ?? []),
          notRun: own.flatMap(({ notRun }) => notRun ?? []),
        },
      ];
    }),
  );
}

function ratioOf(pgque: DrainCell[], own: DrainCell[], pick: (figures: DrainFigures) => number | null): Spread | null {
  return spreadOf(
    own.map(({ repeat, figures }) => {
      const against = pgque.find((cell) => cell.repeat === repeat)?.figures;
      return figures === null || !against ? null : quotient(pick(against), pick(figures));
    }),
  );
}

function messagesPerCpuSecond({
  serverCpuSecondsPerThousand: server,
  clientCpuSecondsPerThousand: client,
}: DrainFigures): number | null {
  return server === null ? null : quotient(1000, server + client);
}

/** Of the median; null without a target. */
export function verdictOf({ system, ratio: measured }: DrainRow): "met" | "not met" | "not measured" | null {
  if (system.target === undefined) return null;
  if (measured === null) return "not measured";
  return system.target.met(measured.median) ? "met" : "not met";
}

export const processesText = (count: number): string => `${count} process${count === 1 ? "" : "es"}`;

/** One sentence for each target, and for each worker whose memory was sampled. */
export function drainVerdicts(rows: DrainRow[]): string[] {
  return [...drainOutcomes(rows).map(outcomeLine), ...rows.flatMap(growthLines)];
}

export function drainOutcomes(rows: DrainRow[]): TargetOutcome[] {
  return rows.flatMap((row) => {
    const { target, name } = row.system;
    const what = `${processesText(row.processes)}, ${reference} / ${name}`;
    const pgque = rows.find((one) => one.system.name === reference && one.processes === row.processes);
    const errors = [...row.errors, ...(pgque?.errors ?? [])];
    return target === undefined ? [] : [outcomeOf(what, target, ratio, { ...row, errors, measured: row.ratio })];
  });
}

function growthLines({ system, processes, measured }: DrainRow): string[] {
  return measured.flatMap(({ growth }) => {
    if (growth === null) return [];
    const [heap, rss] = [growth.heapBytesPerMessage, growth.rssBytesPerMessage].map((slope) =>
      spread(slope, (bytes) => `${bytes.toFixed(2)} B`),
    );
    return [
      `${processesText(processes)}, ${system.name}: memory ${growth.verdict}: a message adds ${heap} to the heap, ${rss} to RSS`,
    ];
  });
}

/** All that the reader should know of the run before the numbers. */
export function drainCaveats({ settings, machine, cells, interrupted }: DrainResults): string[] {
  const measured = cells.flatMap(({ system, processes, figures }) =>
    figures === null ? [] : [{ name: `${system}, ${processesText(processes)}`, ...figures }],
  );
  return [
    ...(settings.indicative ? ["Indicative only: few messages, and once."] : []),
    "The workers share the cores with the servers: compare ratios, not rates.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...disturbed(measured, machine.cores),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
