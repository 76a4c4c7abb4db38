import { systemNamed } from "../../adapters/registry.ts";
import { horizonNamed } from "../../horizons/registry.ts";
import { baselineSection, baselineTable } from "./baseline.ts";
import { noise, publishedSection, reporting, type ScenarioReport } from "../../report/scenario-report.ts";
import { described, heading, list, prose, type Block } from "../../report/document.ts";
import { whole } from "../../report/format.ts";
import { chartData } from "./charts.ts";
import { findings, headline } from "./findings.ts";
import { reportRows } from "../../report/table.ts";
import { heldColumns, mainColumns, moreColumns, rowsOf, spreadIn, textColumns, type Row } from "./columns.ts";
import { xminPublished } from "./published.ts";
import type { TrialSamples, Results } from "./results.ts";

/** The tables, what they say, and everything needed to run it again; against an earlier run if one is given. */
export const xminReporting = reporting(
  (results: Results, samples: TrialSamples[], baseline: Results | null): ScenarioReport => {
    const { settings } = results;
    const rows = rowsOf(results);
    const failures = rows.flatMap(reasons);
    return {
      headline: headline(results),
      caveats: caveats(results),
      verdicts: findings(results),
      intro: "Figures are those of the held phase; of several repeats the median, and the range in brackets.",
      table: reportRows("Every system under every horizon", mainColumns, rows, textColumns),
      more: [
        heading("More of the same trials"),
        reportRows("More of the same trials", moreColumns, rows, textColumns),
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
        ...(failures.length === 0 ? [] : [heading("Trials without figures"), ...list(failures)]),
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

/** What a reader has to know before quoting a figure. */
function caveats({ settings, trials, machine, interrupted }: Results): string[] {
  const measured = trials.flatMap(({ system, horizon, details }) =>
    details === null ? [] : [{ ...details, name: `${system}, ${horizon}` }],
  );
  const repeats = settings.repeat === 1 ? "one repeat" : `${settings.repeat} repeats`;
  return [
    ...(settings.indicative ? [`Indicative only: ${settings.heldSeconds} s held a trial, ${repeats}.`] : []),
    ...(settings.mode === "saturated"
      ? ["Saturated, and the harness shares the cores with the server: compare ratios, not rates."]
      : []),
    ...(settings.embedded
      ? []
      : ["On a server that was given: its own autovacuum settings apply, other work on it counts."]),
    ...unsent(measured),
    ...(interrupted ? ["Interrupted: only what was measured until then."] : []),
    ...noise(measured, machine.cores),
  ];
}

/** More is not what a stall at the end of a phase leaves behind. */
const unsentShareMax = 0.01;

/** Of the worst trial: what could not be sent at the rate. */
function unsent(trials: { name: string; enqueued: number; unsent?: number }[]): string[] {
  const shares = trials.map(({ name, enqueued, unsent = 0 }) => ({ name, share: unsent / (enqueued + unsent) }));
  const [worst] = shares.sort((a, b) => b.share - a.share);
  if (worst === undefined || !(worst.share > unsentShareMax)) return [];
  const percent = (worst.share * 100).toFixed(1);
  return [
    `Of the messages that were due ${percent} % were never sent in a trial (${worst.name}), because sends before them took too long: their rate is lower than what was asked for, and their wait is in the latency as far as it went.`,
  ];
}

/** What a column of what was held means. */
const heldDefinitions: Record<string, string> = {
  age: "*Age*: how many transactions back row versions are kept, of tables and of system catalogs.",
  "dead catalog rows before": "*Dead catalog rows*: when the held phase began, and when it ended.",
  "retained WAL": "*Retained WAL*: what the server keeps for the holder.",
  kept: "*Kept*: messages for a consumer that takes none.",
};

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
    [
      "As another session saw it at the end of the held phase.",
      ...columns.flatMap(({ head }) => heldDefinitions[head] ?? []),
    ].join(" "),
  ];
}

function deadByRelation(row: Row): string[] {
  const names = [...new Set(row.measured.flatMap((trial) => Object.keys(trial.deadTuplesByRelation ?? {})))];
  if (names.length === 0) return [];
  const dead = names
    .map((name) => ({ name, tuples: spreadIn(row, (trial) => trial.deadTuplesByRelation?.[name])?.median ?? 0 }))
    .filter(({ tuples }) => tuples > 0)
    .map(({ name, tuples }) => `${name} ${whole(tuples)}`);
  const from = row.measured[0]?.details?.deadTuplesFrom === "pgstattuple" ? "every page read" : "from the statistics";
  return [`${row.system}, ${row.horizon}: ${dead.join(", ") || "none"} (${names.length} tables, ${from})`];
}

const reasons = ({ system, horizon, errors, skipped }: Row): string[] =>
  [...errors, ...skipped.map((reason) => `skipped, because ${reason}`)].map(
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
      : `at ${settings.rotation.bytes / 2 ** 20} MiB, at most every ${settings.rotation.minIntervalSeconds} s (its defaults, 64 MiB and 30 s, would not rotate in so short a trial)`;
  return [
    load,
    `${settings.producers} producers, ${settings.sendBatch} messages a send; ${settings.consumers} consumers, up to ${settings.batch} a receive, ${settings.idlePollMs} ms of waiting after an empty one; payload ${settings.payloadBytes} bytes`,
    `${settings.bystanders} bystanders, ${settings.bystanderRate} reads/s each, on a table of ${whole(settings.bystanderRows)} rows`,
    `${settings.cleanSeconds} s clean, ${settings.heldSeconds} s held, then at most ${settings.recoverySecondsMax} s to drain, with nothing more sent; ${settings.repeat} repeat(s), systems in turn, a fresh database for each trial`,
    `every producer has one connection, every consumer two (receive and finish); all statements prepared`,
    `Pgque rotates ${rotation}`,
  ];
}
