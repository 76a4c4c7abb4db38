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
