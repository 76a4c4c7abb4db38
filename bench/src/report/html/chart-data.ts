export type Unit = "count" | "bytes" | "ms" | "s";

/** One chart of every group. */
export interface Measure {
  name: string;
  title: string;
  unit: Unit;
  /** The column of the tables that has the figures of the chart. */
  figures: string;
}

/** What the page is given to draw. */
export interface ChartData {
  /** Of the whole run: a system has one colour everywhere. */
  systems: string[];
  /** In the order of the page; one that no trial of a group has a value of is not drawn there. */
  measures: Measure[];
  /** What the reader should know of all charts: where time begins, what is shaded. */
  about: string;
  groups: ChartGroup[];
}

/** Trials whose lines are compared with each other: they share their charts. */
export interface ChartGroup {
  /** Unlike that of every other group, as in "horizon held by none". */
  title: string;
  /** Null: nothing is shaded. */
  span: ShadedSpan | null;
  trials: ChartTrial[];
  /** Trials whose figures cannot be used, or which have none, and why. */
  notes: string[];
}

/** On the time of the trials' `seconds`. */
export interface ShadedSpan {
  label: string;
  fromSeconds: number;
  untilSeconds: number;
}

export interface ChartTrial {
  system: string;
  repeat: number;
  invalid: boolean;
  /** Of each sample. What is before zero is before that which the scenario is about. */
  seconds: number[];
  /** By the name of a measure, for those that the trial has. Null: not sampled, or too soon after the sample before to tell a rate. */
  values: Record<string, (number | null)[]>;
}

/** A trial's line in the chart of a measure. */
export const lineOf = ({ values }: ChartTrial, { name }: Measure): (number | null)[] => values[name] ?? [];

/** Lengths of strokes and gaps that tell repeats apart; the first is a line without gaps. */
export function dashOf(repeat: number): number[] {
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [10, 3, 2, 3, 2, 3]];
  return dashes[(repeat - 1) % dashes.length] ?? [];
}
