import { systemNamed } from "../../adapters/registry.ts";
import type { Proof } from "../../horizons/horizon.ts";
import { horizonNamed } from "../../horizons/registry.ts";
import { baselineSection, baselineTable } from "./baseline.ts";
import { disturbed, publishedSection, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import { described, heading, list, prose, type Block } from "../../report/document.ts";
import { bytes, whole } from "../../report/format.ts";
import { chartData } from "./charts.ts";
import { reportRows } from "../../report/table.ts";
import { heldColumns, mainColumns, moreColumns, rowsOf, spreadIn, textColumns, type Row } from "./columns.ts";
import { xminPublished } from "./published.ts";
import type { CellResult, CellSamples, Results } from "./results.ts";

/** The tables, what they say, and everything needed to run it again; against an earlier run if one is given. */
export const xminReporting = reporting(
  (results: Results, samples: CellSamples[], baseline: Results | null): ScenarioReport => {
    const { settings } = results;
    const rows = rowsOf(results);
    const failures = rows.flatMap(reasons);
    return {
      caveats: caveats(results),
      verdicts: findings(results),
      intro: "Figures are those of the held phase; of several repeats the median, and the range in brackets.",
      table: reportRows("Every system under every horizon", mainColumns, rows, textColumns),
      more: [
        heading("More of the same cells"),
        reportRows("More of the same cells", moreColumns, rows, textColumns),
        "*Latency*: from the time a message was meant to be sent until a consumer had it in hand. *Given back*: what tables shrank " +
          "by while the horizon was held, a lower bound. *Bystander*: reading one row of an unrelated table by primary key. The harness's timers count whole milliseconds, so paced latencies " +
          "and bystanders' are up to one too long, for every system alike.",
        ...publishedSection(xminPublished(results)),
        ...(baseline === null ? [] : baselineSection(results, baseline)),
        ...heldSection(rows),
        heading("Over time"),
        { kind: "charts", data: chartData(results, samples) },
        heading("Dead tuples by table"),
        ...list(rows.flatMap(deadByRelation)),
        ...(failures.length === 0 ? [] : [heading("Cells without figures"), ...list(failures)]),
      ],
      after: [...failures, ...(baseline === null ? [] : [baselineTable(results, baseline)])],
      systems: [
        ...settings.systems.map((name) => described(systemNamed(name))),
        ...settings.horizons.map((name) => prose(`**${name}**: ${horizonNamed(name).summary}.`)),
      ],
      settings: settingsLines(results),
    };
  },
);

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
    row && spreadIn(row, pick)?.median;
  const left = (pick: (cell: CellResult) => number | null, format: (value: number) => string, unit = ""): string => {
    const [now, without] = [median(held, pick), median(none, pick)];
    const beside = without === undefined ? "" : ` (without: ${format(without)})`;
    return now === undefined ? "" : `${format(now)}${unit}${beside}`;
  };
  const dead = left((cell) => cell.deadTuples, whole, " dead tuples");
  const disk = left((cell) => cell.bytes, bytes);
  if (dead === "" || disk === "") return null;
  const rate = held.heldToNone === null ? "" : ` ran at ${whole(held.heldToNone.median * 100)} % of its rate without,`;
  const holder = horizonNamed(held.horizon).inWords ?? `the horizon held by ${held.horizon}`;
  return `${held.system}, with ${holder},${rate} left ${dead} and used ${disk}.${besides(held)}`;
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
function caveats({ settings, cells, machine, interrupted }: Results): string[] {
  const measured = cells.flatMap(({ system, horizon, details }) =>
    details === null ? [] : [{ ...details, name: `${system}, ${horizon}` }],
  );
  const repeats = settings.repeat === 1 ? "one repeat" : `${settings.repeat} repeats`;
  return [
    ...(settings.indicative ? [`Indicative only: ${settings.heldSeconds} s held a cell, ${repeats}.`] : []),
    ...(settings.mode === "saturated"
      ? ["Saturated, and the harness shares the cores with the server: compare ratios, not rates."]
      : []),
    ...(settings.embedded
      ? []
      : ["On a server that was given: its own autovacuum settings apply, other work on it counts."]),
    ...unsent(measured),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
    ...disturbed(measured, machine.cores),
  ];
}

/** More is not what a stall at the end of a phase leaves behind. */
const unsentShareMax = 0.01;

/** Of the worst cell: what could not be sent at the rate. */
function unsent(cells: { name: string; enqueued: number; unsent?: number }[]): string[] {
  const shares = cells.map(({ name, enqueued, unsent = 0 }) => ({ name, share: unsent / (enqueued + unsent) }));
  const [worst] = shares.sort((a, b) => b.share - a.share);
  if (worst === undefined || !(worst.share > unsentShareMax)) return [];
  const percent = (worst.share * 100).toFixed(1);
  return [
    `Of the messages that were due ${percent} % were never sent in a cell (${worst.name}), because sends before them took too long: their rate is lower than what was asked for, and their wait is in the latency as far as it went.`,
  ];
}

/** Of the horizons that hold something; of files of before it was kept there is none. */
function heldSection(rows: Row[]): (string | Block)[] {
  const held = rows.filter(({ measured }) =>
    measured.some(({ horizon, details }) => horizon !== "none" && details?.horizon),
  );
  const columns = heldColumns.filter(
    (column) => !("pick" in column) || held.some((row) => spreadIn(row, column.pick) !== null),
  );
  if (held.length === 0) return [];
  const title = "What was held";
  return [
    heading(title),
    reportRows(title, columns, held, textColumns),
    "As another session saw it at the end of the held phase. *Age*: how many transactions back row versions are kept, of tables and of system catalogs. *Dead catalog rows*: when the held phase began, and when it ended. *Retained WAL*: what the server keeps for the holder. *Kept*: messages for a consumer that takes none.",
  ];
}

function deadByRelation(row: Row): string[] {
  const names = [...new Set(row.measured.flatMap((cell) => Object.keys(cell.deadTuplesByRelation ?? {})))];
  if (names.length === 0) return [];
  const dead = names
    .map((name) => ({ name, tuples: spreadIn(row, (cell) => cell.deadTuplesByRelation?.[name])?.median ?? 0 }))
    .filter(({ tuples }) => tuples > 0)
    .map(({ name, tuples }) => `${name} ${whole(tuples)}`);
  const from = row.measured[0]?.details?.deadTuplesFrom === "pgstattuple" ? "every page read" : "from the statistics";
  return [`${row.system}, ${row.horizon}: ${dead.join(", ") || "none"} (${names.length} tables, ${from})`];
}

const reasons = ({ system, horizon, errors, notRun }: Row): string[] =>
  [...errors, ...notRun.map((reason) => `not run, because ${reason}`)].map(
    (reason) => `${system}, ${horizon}: ${reason}`,
  );

function settingsLines({ settings }: Results): string[] {
  const load =
    settings.mode === "saturated"
      ? "saturated: closed loop, every producer and consumer is a tinybench task"
      : `${settings.rate} messages/s, open loop, latency from the intended send time`;
  const rotation =
    settings.rotation === null
      ? "its defaults"
      : `at ${settings.rotation.bytes / 2 ** 20} MiB, at most every ${settings.rotation.minIntervalSeconds} s (its defaults, 64 MiB and 30 s, would not rotate in so short a cell)`;
  return [
    load,
    `${settings.producers} producers, ${settings.sendBatch} messages a send; ${settings.consumers} consumers, up to ${settings.batch} a receive, ${settings.idlePollMs} ms of waiting after an empty one; payload ${settings.payloadBytes} bytes`,
    `${settings.bystanders} bystanders, ${settings.bystanderRate} reads/s each, on a table of ${whole(settings.bystanderRows)} rows`,
    `${settings.cleanSeconds} s clean, ${settings.heldSeconds} s held, then at most ${settings.recoverySecondsMax} s to drain, with nothing more sent; ${settings.repeat} repeat(s), systems in turn, a fresh database for each cell`,
    `every producer has one connection, every consumer two (receive and finish); all statements prepared`,
    `Pgque rotates ${rotation}`,
  ];
}
