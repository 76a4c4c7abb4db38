import uPlot from "uplot";
import type { Unit } from "../chart-data.ts";
import { paint, tick, time } from "./format.ts";

const font = "12px system-ui, sans-serif";

const common = (): uPlot.Axis => ({
  font,
  stroke: () => paint("--text-soft"),
  grid: { stroke: () => paint("--grid"), width: 1 },
  ticks: { stroke: () => paint("--grid"), width: 1, size: 4 },
});

/** Minutes and seconds from where the scenario has time begin. */
export function timeAxis(): uPlot.Axis {
  return {
    ...common(),
    size: 30,
    incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400],
    values: (_plot, splits) => splits.map(time),
  };
}

/** As wide as its longest label. */
export function valueAxis(unit: Unit, logarithmic: boolean): uPlot.Axis {
  const powersOfTwo = Array.from({ length: 50 }, (_, power) => 2 ** power);
  return {
    ...common(),
    space: 34,
    size: (_plot, values) => 18 + 7 * Math.max(3, ...(values ?? []).map((text) => text.length)),
    ...(unit === "bytes" && !logarithmic ? { incrs: powersOfTwo } : {}),
    ...(logarithmic
      ? { splits: (_plot, _axis, min, max) => powersBetween(min, max, unit), filter: (_plot, splits) => splits }
      : {}),
    values: (_plot, splits) => splits.map((value) => tick(unit, value)),
  };
}

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
function powersBetween(min: number, max: number, unit: Unit): number[] {
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
