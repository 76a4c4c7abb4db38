import type { Spread } from "./results.ts";

/** Over what was measured; null when nothing was. */
export function spreadOf(values: (number | null | undefined)[]): Spread | null {
  const sorted = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? min;
  const lower = sorted[Math.ceil(middle) - 1] ?? min;
  return { median: (lower + upper) / 2, min, max };
}
