import { bytes, clock, ms } from "../../format.ts";
import type { Unit } from "../chart-data.ts";

const few = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A round value, at an axis. */
export function tick(unit: Unit, value: number): string {
  if (unit === "count") return few.format(value);
  if (unit === "s") return `${few.format(value)} s`;
  const [figure = "", name = ""] = (unit === "bytes" ? bytes(value) : ms(value)).split(" ");
  const round = figure.includes(".") ? figure.replace(/\.?0+$/, "") : figure;
  return `${round} ${name}`;
}

/** What was measured. */
export function measured(unit: Unit, value: number): string {
  if (unit === "bytes") return bytes(value);
  if (unit === "ms") return ms(value);
  if (unit === "s") return `${whole.format(value)} s`;
  return value < 10 ? few.format(value) : whole.format(value);
}

/** 1:05, or −0:30 before zero. */
export const time = (seconds: number): string => `${seconds < 0 ? "−" : ""}${clock(Math.abs(seconds))}`;

/** As many as the style names; of more systems than that some share a colour. */
const seriesPaints = 10;

export const seriesPaint = (system: number): string => `--series-${system % seriesPaints}`;

/** A colour of the style, as it is now: dark, light, or on paper. */
export const paint = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);

/** A system's colour. */
export function swatch(system: number): HTMLElement {
  const element = document.createElement("span");
  element.className = "swatch";
  element.style.background = `var(${seriesPaint(system)})`;
  return element;
}
