import { expecting } from "../options/checks.ts";
import { field } from "../options/field.ts";

/**
 * What becomes of the times of a schedule that nobody ran because no worker ran: `"skip"`: nothing; `"once"`: the latest of them is
 * run; `{ all: n }`: the latest n of them are, 1 to 1440, each with its own `run_at`. What is older than a day is not made good.
 */
export type CatchUp = "skip" | "once" | { all: number };

/** The minutes of a day: more runs at once, from one schedule, are more likely a mistake. */
const catchUpMax = 1440;

export const catchUp = expecting<CatchUp>(`"skip", "once" or { all: 1 to ${catchUpMax} }`, (value) => {
  if (value === "skip" || value === "once") return true;
  const all = field(value, "all");
  return Number.isSafeInteger(all) && Number(all) >= 1 && Number(all) <= catchUpMax;
});

/** How many of them are run: what the database stores. */
export function catchUpCount(value: CatchUp): number {
  if (value === "skip") return 0;
  return value === "once" ? 1 : value.all;
}

export function catchUpOf(count: number): CatchUp {
  if (count === 0) return "skip";
  return count === 1 ? "once" : { all: count };
}
