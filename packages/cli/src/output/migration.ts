import type { Plan } from "@pgque/sql";
import { counted } from "./text.ts";

/** Looks before it leaps. */
export interface DryFlags {
  dryRun?: true;
  showSql?: true;
}

/** What a plan would do, as a sentence; with its SQL when that is asked for. */
export function describePlan({ found, version, steps }: Plan, place: string, { showSql }: DryFlags): string {
  const what =
    steps.length === 0
      ? `Nothing to do: Pgque ${found} is there already, in ${place}.`
      : found === null
        ? `Would install Pgque ${version} in ${place}. Nothing was done.`
        : `Would bring Pgque ${found} to ${version} in ${place}, by ${counted(steps.length, "transaction")}. Nothing was done.`;
  if (!showSql) return what;
  const scripts = steps.map((step) => `-- ${step.what}\n${step.sql}`);
  // a comment, so that all of it can be given to psql
  return [`-- ${what}`, ...scripts].join("\n");
}
