import { systemNamed, horizonNamed } from "../registry.ts";
import { mainColumns, moreColumns, type Column } from "./columns.ts";
import { caveats, findings } from "./findings.ts";
import { whole } from "./format.ts";
import { machineLine } from "./machine.ts";
import { mdItem as item, mdTable } from "./md-table.ts";
import type { Results } from "./results.ts";
import { serverLine } from "./server-line.ts";
import { rowsOf, spreadIn, type Row } from "./summary.ts";

/** report.md: the tables, what they say, and everything needed to run it again. */
export function markdownReport(results: Results): string {
  const rows = rowsOf(results);
  const { settings, machine } = results;
  return [
    `# Benchmark \`${results.scenario}\`, ${results.startedAt.slice(0, 16).replace("T", " ")} UTC`,
    caveats(results).join(" "),
    findings(results).map(item).join("\n"),
    "Figures are those of the held phase; of several repeats the median, and the range in brackets.",
    table(mainColumns, rows),
    "## More of the same cells",
    table(moreColumns, rows),
    "*Latency*: from the time a message was meant to be sent until a consumer had it in hand. *Given back*: what tables shrank " +
      "by while the horizon was held, a lower bound. *Bystander*: reading one row of an unrelated table by primary key. The harness's timers count whole milliseconds, so paced latencies " +
      "and bystanders' are up to one too long, for every system alike.",
    "## Dead tuples by table",
    rows.map(deadByRelation).filter(Boolean).join("\n"),
    errors(rows),
    "## What was run",
    [
      ...settings.systems.map(
        (name) =>
          `**${name}**: ${systemNamed(name).summary}.\n${systemNamed(name)
            .settings.map((line) => `  - ${line}`)
            .join("\n")}`,
      ),
      ...settings.horizons.map((name) => `**${name}**: ${horizonNamed(name).summary}.`),
    ]
      .map(item)
      .join("\n"),
    "## Settings",
    settingsLines(results).map(item).join("\n"),
    "## Machine",
    machineLine(machine),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

function table(columns: Column[], rows: Row[]): string {
  const cells = (row: Row): string[] =>
    columns.map(({ cell }, index) => (row.cells.length === 0 && index === 2 ? "error" : cell(row)));
  return mdTable(
    columns.map(({ head }) => head),
    rows.map(cells),
    2,
  );
}

function deadByRelation(row: Row): string {
  const names = [...new Set(row.cells.flatMap(({ deadTuplesByRelation }) => Object.keys(deadTuplesByRelation ?? {})))];
  if (names.length === 0) return "";
  const dead = names
    .map((name) => ({ name, tuples: spreadIn(row, (cell) => cell.deadTuplesByRelation?.[name])?.median ?? 0 }))
    .filter(({ tuples }) => tuples > 0)
    .map(({ name, tuples }) => `${name} ${whole(tuples)}`);
  const from = row.cells[0]?.details?.deadTuplesFrom === "pgstattuple" ? "every page read" : "from the statistics";
  return item(`${row.system}, ${row.horizon}: ${dead.join(", ") || "none"} (${names.length} tables, ${from})`);
}

function errors(rows: Row[]): string {
  const lines = rows.flatMap((row) => row.errors.map((error) => item(`${row.system}, ${row.horizon}: ${error}`)));
  return lines.length === 0 ? "" : `## Cells without figures\n\n${lines.join("\n")}`;
}

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
