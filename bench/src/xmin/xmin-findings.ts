import type { Proof } from "../horizons/horizon.ts";
import { horizonNamed } from "../horizons/registry.ts";
import { disturbed } from "../report/scenario-report.ts";
import { bytes, whole } from "../report/format.ts";
import type { CellResult, Results } from "./xmin-results.ts";
import { rowsOf, spreadIn, type Row } from "./xmin-summary.ts";

const unsentShareMax = 0.01;

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
    `${held.system}, with ${horizonNamed(held.horizon).inWords ?? `the horizon held by ${held.horizon}`},${rate} ` +
    `left ${whole(dead)} dead tuples${without(deadBefore === undefined ? null : whole(deadBefore))} ` +
    `and used ${bytes(disk)}${without(diskBefore === undefined ? null : bytes(diskBefore))}.${besides(held)}`
  );
}

/** What else was held, by whom it is not the tables' horizon that counts. */
function besides(held: Row): string {
  const seen = (pick: (proof: Proof) => number | undefined): number | undefined =>
    spreadIn(held, ({ details }) => details?.horizon && pick(details.horizon))?.median;
  const kept = seen(({ messagesKept }) => messagesKept);
  const wal = seen(({ retainedWalBytes }) => retainedWalBytes);
  const catalogs = spreadIn(held, ({ details }) => details?.catalogDeadTuples.after)?.median;
  return [
    kept === undefined ? "" : ` ${whole(kept)} messages were kept for it.`,
    wal === undefined
      ? ""
      : ` ${bytes(wal)} of WAL were kept for it, and ${whole(catalogs ?? 0)} dead rows in system catalogs.`,
  ].join("");
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
    ...unsent(results),
    ...(results.interrupted ? ["Interrupted: only what was measured until then."] : []),
  ];
}

/** Who could not be sent to at the rate; of the worst cell, when it is more than what a stall at the end of a phase leaves behind. */
function unsent({ cells }: Results): string[] {
  const shares = cells.flatMap(({ system, horizon, details }) => {
    const missing = details?.unsent ?? 0;
    return details === null ? [] : [{ name: `${system}, ${horizon}`, share: missing / (details.enqueued + missing) }];
  });
  const [worst] = shares.sort((a, b) => b.share - a.share);
  if (worst === undefined || worst.share <= unsentShareMax) return [];
  const percent = (worst.share * 100).toFixed(1);
  return [
    `Of the messages that were due ${percent} % were never sent in a cell (${worst.name}), because sends before them took too long: their rate is lower than what was asked for, and their wait is in the latency as far as it went.`,
  ];
}

/** Of the worst cell; nothing when none was. */
export function disturbance({ cells, machine }: Results): string {
  const measured = cells.flatMap(({ system, horizon, details }) =>
    details === null ? [] : [{ name: `${system}, ${horizon}`, ...details }],
  );
  return disturbed(measured, machine.cores).join(" ");
}
