import uPlot from "uplot";
import type { Unit } from "../chart-data.ts";

// The library's enumeration is a type alone: what it stands for has to be written.
// oxlint-disable typescript/no-unsafe-enum-assignment
const logarithm = 3 as uPlot.Scale.Distr;
const asinh = 4 as uPlot.Scale.Distr;
// oxlint-enable typescript/no-unsafe-enum-assignment

type Lines = (number | null)[][];

/** From here on a linear scale makes the smaller lines one with the axis. */
const peaksApart = 50;

const positive = (line: (number | null)[]): number[] =>
  line.filter((value) => value !== null).filter((value) => value > 0);

const hasZero = (lines: Lines): boolean => lines.some((line) => line.includes(0));

/** Sizes double, everything else grows tenfold. */
const logBase = (unit: Unit): 2 | 10 => (unit === "bytes" ? 2 : 10);

/** Zero has a place only on the scale of counts, which is linear up to one. */
export function mayBeLogarithmic(lines: Lines, unit: Unit): boolean {
  return lines.some((line) => positive(line).length > 0) && (unit === "count" || !hasZero(lines));
}

/** Whether the highest points of the lines are too far from each other to be compared on a linear scale. */
export function beginsLogarithmic(lines: Lines, unit: Unit): boolean {
  const peaks = lines.flatMap((line) => (positive(line).length === 0 ? [] : [Math.max(...positive(line))]));
  return mayBeLogarithmic(lines, unit) && peaks.length > 1 && Math.max(...peaks) / Math.min(...peaks) >= peaksApart;
}

/** A linear scale begins at zero: half of it is half. */
export function valueScale(lines: Lines, unit: Unit, logarithmic: boolean): uPlot.Scale {
  const log = logBase(unit);
  if (!logarithmic) return { range: (_plot, _min, max) => [0, (max || 1) * 1.05] };
  if (hasZero(lines)) return { distr: asinh, asinh: 1, range: (_plot, _min, max) => [0, Math.max(10, max * 1.5)] };
  return { distr: logarithm, log, range: (_plot, min, max) => uPlot.rangeLog(min, max, log, true) };
}

/** More labels than these would touch each other. */
const labelsMax = 8;

/** What a logarithmic scale is labelled with. One that has zero is linear up to one, which is too near to zero for a label. */
export function powersBetween(min: number, max: number, unit: Unit): number[] {
  const base = logBase(unit);
  const exponent = (value: number): number => Math.log(value) / Math.log(base);
  const first = min > 0 ? Math.ceil(exponent(min) - 1e-9) : 1;
  const last = Math.floor(exponent(max) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / labelsMax));
  const powers = Array.from(
    { length: Math.max(0, Math.floor((last - first) / step) + 1) },
    (_, index) => base ** (first + index * step),
  );
  return min > 0 ? powers : [0, ...powers];
}
