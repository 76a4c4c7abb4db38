import { bytes, whole } from "./format.ts";
import type { CellResult, Results } from "./results.ts";
import { rowsOf, spreadIn, type Row } from "./summary.ts";

/** What the figures say, one sentence for each system and holder. Facts of this run, no judgement. */
export function findings(results: Results): string[] {
  const rows = rowsOf(results);
  return rows
    .filter(({ horizon }) => horizon !== "none")
    .flatMap((held) => {
      const none = rows.find(({ system, horizon }) => system === held.system && horizon === "none");
      return sentence(held, none) ?? [];
    });
}

function sentence(held: Row, none: Row | undefined): string | null {
  const median = (row: Row | undefined, pick: (cell: CellResult) => number | null): number | undefined =>
    row === undefined ? undefined : spreadIn(row, pick)?.median;
  const dead = median(held, (cell) => cell.deadTuples);
  const disk = median(held, (cell) => cell.bytes);
  if (dead === undefined || disk === undefined) return null;
  const rate = held.heldToNone === null ? "" : ` ran at ${whole(held.heldToNone.median * 100)} % of its rate without,`;
  const deadBefore = median(none, (cell) => cell.deadTuples);
  const diskBefore = median(none, (cell) => cell.bytes);
  const without = (figure: string | null): string => (figure === null ? "" : ` (without: ${figure})`);
  return (
    `${held.system}, with the horizon held by ${held.horizon},${rate} ` +
    `left ${whole(dead)} dead tuples${without(deadBefore === undefined ? null : whole(deadBefore))} ` +
    `and used ${bytes(disk)}${without(diskBefore === undefined ? null : bytes(diskBefore))}.`
  );
}

/** What a reader has to know before quoting a figure. */
export function caveats(results: Results): string[] {
  const { settings } = results;
  return [
    ...(settings.indicative
      ? [
          `Indicative only: ${settings.heldSeconds} s held a cell, ${settings.repeat === 1 ? "one repeat" : `${settings.repeat} repeats`}.`,
        ]
      : []),
    ...(settings.mode === "saturated"
      ? ["Saturated, and the harness shares the cores with the server: compare ratios, not rates."]
      : []),
    ...(settings.embedded
      ? []
      : ["On a server that was given: its own autovacuum settings apply, other work on it counts."]),
    ...disturbed(results),
    ...(results.interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}

/** Other programs may have this share of the cores before the reader is told. */
const othersShareMax = 0.1;

function disturbed({ cells, machine }: Results): string[] {
  const shares = cells.flatMap(({ system, horizon, details }) =>
    details?.otherCpuSeconds
      ? [{ system, horizon, share: details.otherCpuSeconds / (details.seconds * machine.cores) }]
      : [],
  );
  const [worst] = shares.sort((a, b) => b.share - a.share);
  if (worst === undefined || worst.share < othersShareMax) return [];
  const whose = `${worst.system}, ${worst.horizon}`;
  return [
    `Disturbed: other programs used up to ${whole(worst.share * 100)} % of the machine's CPU during a cell (${whose}).`,
  ];
}
