import { atMost, type Target } from "../scenario/target.ts";
import { quotient } from "../measure/quotient.ts";
import { ms, ratio, whole } from "../report/format.ts";
import type { LatencySummary } from "../measure/histogram.ts";
import type { Spread } from "../report/results.ts";
import { spreadOf } from "../report/summary.ts";
import { outcomeLine, outcomeOf, type TargetOutcome } from "../targets/outcome.ts";
import { latencySystems, named } from "../adapters/registry.ts";
import type { Described } from "../adapters/adapter.ts";
import { systemsOf } from "./latency-plan.ts";
import type { LatencyCell, LatencyResults } from "./latency-results.ts";
import type { LatencyFigures } from "./process.ts";

/** All repeats of one system at one rate. */
export interface LatencyRow {
  system: Described;
  messagesPerSecond: number;
  /** Only those with figures. */
  measured: LatencyFigures[];
  /** Within each repeat: the p50 of pgque over this one's. */
  ratio: Spread | null;
  errors: string[];
  notRun: string[];
}

/** What is measured against targets, and what the others are compared with. */
export const reference = "pgque";

/** What has to be reached, and whose p50 it is compared with. */
const targets: { what: string; target: Target; of: (summary: LatencySummary) => number }[] = [
  { what: "p50", target: atMost(1, ms), of: ({ p50 }) => p50 },
  { what: "p99", target: atMost(5, ms), of: ({ p99 }) => p99 },
];
const against = { system: "graphile-worker", target: atMost(0.5, ratio) };

/** In the order of the tables. */
export function latencyRows({ cells, settings }: LatencyResults): LatencyRow[] {
  const of = (system: string, rate: number): LatencyCell[] =>
    cells.filter((cell) => cell.system === system && cell.messagesPerSecond === rate);
  return settings.rates.flatMap((messagesPerSecond) =>
    systemsOf(settings).flatMap((name): LatencyRow[] => {
      const own = of(name, messagesPerSecond);
      if (own.length === 0) return [];
      return [
        {
          system: named(latencySystems, name),
          messagesPerSecond,
          measured: own.flatMap(({ figures }) => figures ?? []),
          ratio: ratioOf(of(reference, messagesPerSecond), own),
          errors: own.flatMap(({ error }) => error ?? []),
          notRun: own.flatMap(({ notRun }) => notRun ?? []),
        },
      ];
    }),
  );
}

function ratioOf(pgque: LatencyCell[], own: LatencyCell[]): Spread | null {
  return spreadOf(
    own.map(({ repeat, figures }) => {
      const other = pgque.find((cell) => cell.repeat === repeat)?.figures;
      return quotient(other?.latencyMs?.p50 ?? null, figures?.latencyMs?.p50 ?? null);
    }),
  );
}

/** One sentence for each target at each rate. */
export const latencyVerdicts = (rows: LatencyRow[]): string[] => latencyOutcomes(rows).map(outcomeLine);

export function latencyOutcomes(rows: LatencyRow[]): TargetOutcome[] {
  return rows.flatMap((row) => {
    const name = `${whole(row.messagesPerSecond)}/s`;
    if (row.system.name === reference) {
      return targets.map(({ what, target, of }) => {
        const measured = spreadOf(row.measured.map(({ latencyMs }) => latencyMs && of(latencyMs)));
        return outcomeOf(`${name}, ${what}`, target, ms, { ...row, measured });
      });
    }
    if (row.system.name !== against.system) return [];
    const what = `${name}, p50, ${reference} / ${against.system}`;
    const pgque = rows.find((one) => one.system.name === reference && one.messagesPerSecond === row.messagesPerSecond);
    const errors = [...row.errors, ...(pgque?.errors ?? [])];
    return [outcomeOf(what, against.target, ratio, { ...row, errors, measured: row.ratio })];
  });
}

/** All that the reader should know of the run before the numbers. */
export function latencyCaveats({ settings, interrupted }: LatencyResults): string[] {
  return [
    ...(settings.indicative ? ["Indicative only: short, and once."] : []),
    "Senders, workers and servers share the cores: compare with the rows without a queue, select, notify and insert-notify, which say what waking a process and waiting for the disk take on this machine.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}
