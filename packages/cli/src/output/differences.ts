import type { OptionDifference } from "@pgque/client";
import { showDuration } from "./duration.ts";
import { flagOf } from "./flags.ts";

/** What is other than was asked for, for a person: "--max-retries is 3, not 9; --max-lag is none, not 2h". */
export function showDifferences(differences: readonly OptionDifference[]): string {
  return differences
    .map(({ option, wanted, found }) => {
      const show = (value: OptionDifference["found"]): string => shown(option, value);
      return `${flagOf(option.replace(/Ms$/, ""))} is ${show(found)}, not ${show(wanted)}`;
    })
    .join("; ");
}

function shown(option: string, value: OptionDifference["found"]): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  return option.endsWith("Ms") ? showDuration(Number(value)) : String(value);
}
