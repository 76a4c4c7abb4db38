import { bytes, ms, ratio, whole } from "../../report/format.ts";
import type { Spread } from "../../report/results.ts";
import { atLeast, atMost, outcomeOf, type Target, type TargetOutcome } from "../../runner/target.ts";
import { rowsOf, spreadIn, type Row } from "./columns.ts";
import type { TrialResult, Results } from "./results.ts";

/** What is measured against targets. */
const reference = "pgque";

/** Held over `none`: what is paced has room to spare, what is saturated is at the mercy of the machine. */
const rateTarget = { paced: atLeast(0.99, ratio), saturated: atLeast(0.95, ratio) };
const nothing = atMost(0, whole);
const something: Target = { text: "> 0", met: (value) => value > 0 };

/** Who keeps a queue from giving its space back by other means than the horizon: by a lock on its tables, by messages not yet taken. */
const keepsSpace = new Set(["pg-dump", "lagging-consumer"]);

/** Of the worst of all horizons, each with its median over the repeats. */
export function xminOutcomes(results: Results): TargetOutcome[] {
  const rows = rowsOf(results).filter(({ system }) => system === reference);
  const held = rows.filter(({ horizon }) => horizon !== "none");
  if (held.length === 0) return [];
  const { mode, rate } = results.settings;
  const load = mode === "paced" ? `${whole(rate)}/s` : "saturated";
  const rotating = held.filter(({ horizon }) => !keepsSpace.has(horizon));
  return [
    worst(`${load}: finished, held / none`, rateTarget[mode], ratio, "least", held, (row) => row.heldToNone),
    worst(`${load}: dead tuples`, nothing, whole, "most", rows, mostDead),
    ...givenBack(
      load,
      rotating,
      rows.find(({ horizon }) => horizon === "none"),
    ),
    ...(mode === "paced" ? (["p50", "p99"] as const).map((at) => bystanders(rowsOf(results), at)) : []),
  ];
}

/** One repeat with dead tuples is too many. */
function mostDead(row: Row): Spread | null {
  const dead = spreadIn(row, (trial) => trial.deadTuples);
  return dead && { ...dead, median: dead.max };
}

/** Says nothing where the trials are too short for a rotation, whoever holds what. */
function givenBack(load: string, held: Row[], none: Row | undefined): TargetOutcome[] {
  const rotations = (row: Row): Spread | null => spreadIn(row, (trial) => trial.rotations);
  const outcomes = [
    worst(`${load}: rotations while held`, something, whole, "least", held, rotations),
    worst(`${load}: bytes given back while held`, something, bytes, "least", held, (row) =>
      spreadIn(row, (trial) => trial.bytesReclaimed),
    ),
  ];
  if (none === undefined || rotations(none)?.median !== 0) return outcomes;
  const because = "trials too short: without a holder there was no rotation either";
  return outcomes.map((outcome) => ({ ...outcome, verdict: "not measured", because }));
}

function worst(
  what: string,
  target: Target,
  format: (value: number) => string,
  which: "least" | "most",
  rows: Row[],
  pick: (row: Row) => Spread | null,
): TargetOutcome {
  const spreads = rows.flatMap((row) => {
    const measured = pick(row);
    return measured === null ? [] : [{ measured, horizon: row.horizon }];
  });
  const sorted = spreads.sort((a, b) => a.measured.median - b.measured.median);
  const found = which === "least" ? sorted[0] : sorted.at(-1);
  const reasons = {
    errors: rows.flatMap(({ horizon, errors }) => errors.map((error) => `${horizon}: ${error}`)),
    skipped: found === undefined ? rows.flatMap(({ skipped }) => skipped) : [],
  };
  const outcome = outcomeOf(what, target, format, { ...reasons, measured: found?.measured ?? null });
  if (found === undefined) return outcome;
  const all = spreads.map(({ measured }) => measured);
  const range = `${format(Math.min(...all.map(({ min }) => min)))}–${format(Math.max(...all.map(({ max }) => max)))}`;
  const of = spreads.length === 1 ? "" : `, the worst of ${spreads.length}, which have ${range}`;
  return { ...outcome, measured: `${outcome.measured} with ${found.horizon}${of}` };
}

/** Of an unrelated table's reads: the median under each held horizon is within the range that there is without. */
function bystanders(rows: Row[], at: "p50" | "p99"): TargetOutcome {
  const what = `bystander's ${at}, held against none`;
  const pick = (trial: TrialResult): number | null => trial.bystanderMs?.[at] ?? null;
  const without = rows.find(({ system, horizon }) => system === reference && horizon === "none");
  const range = without === undefined ? null : spreadIn(without, pick);
  // one repeat has no range to be within
  if (range === null || range.min === range.max) {
    return outcomeOf(what, { text: "≤ the most without", met: () => false }, ms, { measured: null });
  }
  const target = atMost(range.max, ms);
  const own = rows.filter(({ system, horizon }) => system === reference && horizon !== "none");
  const theirs = rows.filter(({ system, horizon }) => system === "skip-locked" && horizon !== "none");
  const outcome = worst(what, target, ms, "most", own, (row) => spreadIn(row, pick));
  const beside = worst("", target, ms, "most", theirs, (row) => spreadIn(row, pick));
  return { ...outcome, measured: `${outcome.measured}; skip-locked: ${beside.measured}` };
}
