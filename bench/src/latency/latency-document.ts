import { described, list, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { closing } from "../report/closing.ts";
import { publishedSection } from "../report/published.ts";
import { latencyPublished } from "./latency-published.ts";
import { reportRows } from "../report/rows-table.ts";
import { serverLine } from "../report/server-line.ts";
import { columns, textColumns } from "./latency-columns.ts";
import type { LatencyResults } from "./latency-results.ts";
import { latencyCaveats, latencyRows, latencyVerdicts } from "./latency-summary.ts";

/** What was met, the table, and all that is needed to judge them. */
export function latencyDocument(results: LatencyResults): Document {
  const rows = latencyRows(results);
  const { settings, machine } = results;
  const systems = [...new Set(rows.map(({ system }) => system))];
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(latencyCaveats(results).join(" ")),
      ...list(latencyVerdicts(rows)),
      ...paragraph(
        `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat; targets are compared with medians.`,
      ),
      reportRows("How long a message takes", columns, rows, textColumns),
      ...paragraph(
        prose(
          "*Sent late*: how long after a message was due the sender's own thread began to send it, which is a part of its latency.",
        ),
      ),
      ...publishedSection(latencyPublished(rows)),
      ...closing(systems.map(described), settingsLines(results), machine),
    ],
  };
}

function settingsLines({ settings }: LatencyResults): string[] {
  const handler =
    settings.handlerMs === 0
      ? "a handler notes the time and returns"
      : `a handler notes the time and returns ${settings.handlerMs} ms later`;
  return [
    "open loop: each message has a time at which it is due, fixed in advance, and its latency runs from then until its handler is called, so that a stall shows in all that were due meanwhile; HDR histograms in microseconds",
    `sender and worker are in one process, on one clock; a thread of its own says when a message is due; ${handler}`,
    `${settings.seconds} s a cell, in rounds of about ${settings.roundSeconds} s: at each rate the systems in turn, while one has its round the others are idle; each in a process and a database, or a Redis, of its own; ${settings.repeat} repeat(s), and who comes first changes from repeat to repeat`,
    `${settings.warmupMessages} messages before the first round do not count; every message has to arrive once, or the cell is an error`,
    `synchronous_commit ${settings.synchronousCommit} on every connection`,
    serverLine(settings),
  ];
}
