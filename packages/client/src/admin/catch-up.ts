import { show, type Check } from "../validation/options.ts";

/**
 * What becomes of the times of a schedule that nobody ran because no worker ran: `"skip"`: nothing; `"once"`: the latest of them is
 * run; `{ all: n }`: the latest n of them are, 1 to 1440, each with its own `run_at`. What is older than a day is not made good.
 */
export type CatchUp = "skip" | "once" | { all: number };

/** The minutes of a day: more runs at once, from one schedule, are more likely a mistake. */
const catchUpMax = 1440;

export const catchUp: Check = (name, value) => {
  if (value === "skip" || value === "once") return undefined;
  const all: unknown = (value as { all?: unknown } | null)?.all;
  const isFine = Number.isSafeInteger(all) && Number(all) >= 1 && Number(all) <= catchUpMax;
  return isFine
    ? undefined
    : `expected \`${name}\` to be "skip", "once" or { all: 1 to ${catchUpMax} }, got: ${show(value)}`;
};

/** How many of them are run: what the database stores. */
export function catchUpCount(value: CatchUp): number {
  if (value === "skip") return 0;
  return value === "once" ? 1 : value.all;
}

export function catchUpOf(count: number): CatchUp {
  if (count === 0) return "skip";
  return count === 1 ? "once" : { all: count };
}
