import { notMeasured, spread } from "../report/format.ts";
import type { Spread } from "../report/results.ts";
import type { Column } from "../report/table.ts";

/** What a value has to reach. */
export interface Target {
  /** As in "≥ 0.75". */
  text: string;
  met(value: number): boolean;
}

export function atLeast(bound: number, format: (value: number) => string): Target {
  return { text: `≥ ${format(bound)}`, met: (value) => value >= bound };
}

export function atMost(bound: number, format: (value: number) => string): Target {
  return { text: bound === 0 ? format(0) : `≤ ${format(bound)}`, met: (value) => value <= bound };
}

/** What was to be reached, and what came of it. */
export interface TargetOutcome {
  what: string;
  /** As in "≥ 8.00". */
  target: string;
  /** The median, and the range in brackets. */
  measured: string;
  verdict: "met" | "not met" | "not measured" | "error" | "skipped";
  /** Where it was missed, of several; why there is none, of an error and of what was not run or not measured. */
  because: string | null;
}

/** Compares the median; what failed or was not run in one repeat has no verdict but that. */
export function outcomeOf(
  what: string,
  target: Target,
  format: (value: number) => string,
  { measured, errors = [], skipped = [] }: { measured: Spread | null; errors?: string[]; skipped?: string[] },
): TargetOutcome {
  const none = withoutFigures(what, target, { errors, skipped });
  if (none !== null) return none;
  if (measured === null) return { ...unmeasured(what, target), verdict: "not measured", because: null };
  const verdict = target.met(measured.median) ? "met" : "not met";
  return { what, target: target.text, measured: spread(measured, format), verdict, because: null };
}

/** Null when nothing failed and everything was run. */
export function withoutFigures(
  what: string,
  target: Target,
  { errors, skipped }: { errors: string[]; skipped: string[] },
): TargetOutcome | null {
  const [error] = errors;
  if (error !== undefined) return { ...unmeasured(what, target), verdict: "error", because: error };
  const [reason] = skipped;
  return reason === undefined ? null : { ...unmeasured(what, target), verdict: "skipped", because: reason };
}

const unmeasured = (what: string, target: Target) => ({ what, target: target.text, measured: notMeasured });

/** Two columns: what a row has to reach, and whether it does. Empty without a target. */
export function targetColumns<Row extends { ratio: Spread | null }>(
  targetOf: (row: Row) => Target | undefined,
): Column<Row>[] {
  return [
    { head: "target", cell: (row) => targetOf(row)?.text ?? "" },
    { head: "", cell: (row) => verdictOf(targetOf(row), row.ratio) },
  ];
}

/** Of the median. */
export function verdictOf(target: Target | undefined, measured: Spread | null): "" | TargetOutcome["verdict"] {
  if (target === undefined) return "";
  if (measured === null) return "not measured";
  return target.met(measured.median) ? "met" : "not met";
}

const joints: Record<TargetOutcome["verdict"], string> = {
  met: " with ",
  "not met": " with ",
  "not measured": ", ",
  skipped: ", because ",
  error: ": ",
};

/** The verdict, and why. */
export const verdictText = ({ verdict, because }: TargetOutcome): string =>
  because === null ? verdict : verdict + joints[verdict] + because;

/** In one sentence. */
export function outcomeLine(outcome: TargetOutcome): string {
  const { what, target, measured, verdict } = outcome;
  const figures = verdict === "met" || verdict === "not met" ? `${measured} (${target}): ` : "";
  return `${what}: ${figures}${verdictText(outcome)}`;
}
