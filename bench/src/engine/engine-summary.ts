import type { Figure, Value } from "./figures/figure.ts";
import type { Target } from "../scenario/target.ts";
import { figureNamed } from "./figures/registry.ts";
import type { EngineResults, FigureResult } from "./engine-results.ts";
import type { Spread } from "../report/results.ts";
import { outcomeOf, type TargetOutcome } from "../targets/outcome.ts";
import { spreadOf } from "../report/summary.ts";

export type Verdict = "met" | "not met" | "not measured" | "no target" | "error";

/** One value over its repeats. */
export interface ValueRow {
  value: Value;
  spread: Spread | null;
  /** Of the median; null for a value without a target. */
  verdict: "met" | "not met" | "not measured" | null;
}

export interface FigureSummary {
  figure: Figure;
  rows: ValueRow[];
  /** Of all targets together: one repeat that failed makes it an error. */
  verdict: Verdict;
  errors: string[];
}

export function summaryOf(results: EngineResults): FigureSummary[] {
  return results.settings.figures.flatMap((name) => {
    const measured = results.figures.filter((result) => result.name === name);
    return measured.length === 0 ? [] : [summary(figureNamed(name), measured)];
  });
}

function summary(figure: Figure, measured: FigureResult[]): FigureSummary {
  const errors = measured.flatMap(({ error }) => error ?? []);
  const rows = Object.entries(figure.values).map(([key, value]): ValueRow => {
    const spread = spreadOf(measured.map(({ values }) => values[key]));
    return { value, spread, verdict: value.target === undefined ? null : verdictOf(value.target, spread) };
  });
  return { figure, rows, verdict: errors.length > 0 ? "error" : together(rows), errors };
}

function verdictOf(target: Target, spread: Spread | null): "met" | "not met" | "not measured" {
  if (spread === null) return "not measured";
  return target.met(spread.median) ? "met" : "not met";
}

function together(rows: ValueRow[]): Verdict {
  const verdicts = new Set(rows.flatMap(({ verdict }) => verdict ?? []));
  if (verdicts.size === 0) return "no target";
  if (verdicts.has("not met")) return "not met";
  return verdicts.has("not measured") ? "not measured" : "met";
}

export function engineOutcomes(summaries: FigureSummary[]): TargetOutcome[] {
  return summaries.flatMap(({ figure, rows, errors }) =>
    rows.flatMap(({ value, spread: measured }) =>
      value.target === undefined
        ? []
        : [outcomeOf(`${figure.name}: ${value.label}`, value.target, value.format, { measured, errors })],
    ),
  );
}

/** All that the reader should know of the run before the numbers. */
export function engineCaveats({ settings, interrupted }: EngineResults): string[] {
  return [
    ...(settings.indicative ? ["Indicative only: small sizes, and short."] : []),
    "The harness shares the cores with an embedded server: compare ratios, not rates.",
    ...(settings.embedded ? [] : ["On a server that was given: its own settings apply, other work on it counts."]),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}

/** Whether a figure's targets are met, and by what. */
export function verdictLine({ figure, rows, verdict, errors }: FigureSummary): string {
  if (verdict === "error") return `${figure.name}: error: ${errors.join("; ")}`;
  const targets = rows.flatMap(({ value, spread, verdict }) =>
    value.target === undefined
      ? []
      : `${value.label} ${spread === null ? "not measured" : value.format(spread.median)} (${value.target.text}${verdict === "not met" ? ", not met" : ""})`,
  );
  return [figure.name, verdict, ...(targets.length === 0 ? [] : [targets.join(", ")])].join(": ");
}
