import type uPlot from "uplot";
import type { Unit } from "../chart-data.ts";
import { tick, time } from "./format.ts";
import { powersBetween } from "./scale.ts";
import { paint } from "./paint.ts";

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
