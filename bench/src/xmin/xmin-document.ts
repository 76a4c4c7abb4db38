import { systemNamed } from "../adapters/registry.ts";
import { horizonNamed } from "../horizons/registry.ts";
import { baselineSection } from "../report/baseline/section.ts";
import { heldColumns, mainColumns, moreColumns } from "./xmin-columns.ts";
import { described, heading, list, paragraph, prose, titleOf, type Block, type Document } from "../report/document.ts";
import { caveats, disturbance, findings } from "./xmin-findings.ts";
import { whole } from "../report/format.ts";
import { closing, publishedSection } from "../report/scenario-report.ts";
import { chartData } from "../report/html/charts.ts";
import { xminPublished } from "./xmin-published.ts";
import type { CellSamples, Results } from "./xmin-results.ts";
import { tableOf, type Column } from "../report/table.ts";
import { serverLine } from "../report/results.ts";
import { absence, rowsOf, spreadIn, type Row } from "./xmin-summary.ts";

/** The tables, what they say, and everything needed to run it again. */
export function xminDocument(results: Results, samples: CellSamples[], baseline: Results | null = null): Document {
  const rows = rowsOf(results);
  const { settings, machine } = results;
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(caveats(results).join(" ")),
      ...paragraph(disturbance(results)),
      ...list(findings(results)),
      ...paragraph("Figures are those of the held phase; of several repeats the median, and the range in brackets."),
      table("Every system under every horizon", mainColumns, rows),
      heading("More of the same cells"),
      table("More of the same cells", moreColumns, rows),
      ...paragraph(
        prose(
          "*Latency*: from the time a message was meant to be sent until a consumer had it in hand. *Given back*: what tables shrank " +
            "by while the horizon was held, a lower bound. *Bystander*: reading one row of an unrelated table by primary key. The harness's timers count whole milliseconds, so paced latencies " +
            "and bystanders' are up to one too long, for every system alike.",
        ),
      ),
      ...publishedSection(xminPublished(results)),
      ...(baseline === null ? [] : baselineSection(results, baseline)),
      ...heldSection(rows),
      heading("Over time"),
      { kind: "charts", data: chartData(results, samples) },
      heading("Dead tuples by table"),
      ...list(rows.flatMap(deadByRelation)),
      ...errors(rows),
      ...closing(
        [
          ...settings.systems.map((name) => described(systemNamed(name))),
          ...settings.horizons.map((name) => prose(`**${name}**: ${horizonNamed(name).summary}.`)),
        ],
        settingsLines(results),
        machine,
      ),
    ],
  };
}

/** Of the horizons that hold something; of files of before it was kept there is none. */
function heldSection(rows: Row[]): Block[] {
  const held = rows.filter(({ cells }) => cells.some(({ horizon, details }) => horizon !== "none" && details?.horizon));
  const columns = heldColumns.filter(
    (column) => !("pick" in column) || held.some((row) => spreadIn(row, column.pick) !== null),
  );
  if (held.length === 0) return [];
  const title = "What was held";
  return [
    heading(title),
    table(title, columns, held),
    ...paragraph(
      prose(
        "As another session saw it at the end of the held phase. *Age*: how many transactions back row versions are kept, of tables and of system catalogs. *Dead catalog rows*: when the held phase began, and when it ended. *Retained WAL*: what the server keeps for the holder. *Kept*: messages for a consumer that takes none.",
      ),
    ),
  ];
}

function table(caption: string, columns: Column<Row>[], rows: Row[]): Block {
  return tableOf({ caption, columns, textColumns, absence }, rows);
}

/** Of the columns: system and horizon. */
const textColumns = 2;

function deadByRelation(row: Row): string[] {
  const names = [...new Set(row.cells.flatMap(({ deadTuplesByRelation }) => Object.keys(deadTuplesByRelation ?? {})))];
  if (names.length === 0) return [];
  const dead = names
    .map((name) => ({ name, tuples: spreadIn(row, (cell) => cell.deadTuplesByRelation?.[name])?.median ?? 0 }))
    .filter(({ tuples }) => tuples > 0)
    .map(({ name, tuples }) => `${name} ${whole(tuples)}`);
  const from = row.cells[0]?.details?.deadTuplesFrom === "pgstattuple" ? "every page read" : "from the statistics";
  return [`${row.system}, ${row.horizon}: ${dead.join(", ") || "none"} (${names.length} tables, ${from})`];
}

function errors(rows: Row[]): Block[] {
  const lines = rows.flatMap((row) => reasons(row).map((reason) => `${row.system}, ${row.horizon}: ${reason}`));
  return lines.length === 0 ? [] : [heading("Cells without figures"), ...list(lines)];
}

const reasons = ({ errors, notRun }: Row): string[] => [
  ...errors,
  ...notRun.map((reason) => `not run, because ${reason}`),
];

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
    serverLine(settings),
  ];
}
