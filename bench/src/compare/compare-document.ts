import { systemNamed } from "../adapters/registry.ts";
import { horizonNamed } from "../horizons/registry.ts";
import { described, heading, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { closing } from "../report/closing.ts";
import { reportRows } from "../report/rows-table.ts";
import { serverLine } from "../report/server-line.ts";
import { mainColumns, moreColumns, textColumns } from "./compare-columns.ts";
import type { CompareResults } from "./compare-results.ts";
import { compareCaveats, compareRows } from "./compare-summary.ts";

/** The tables, and all that is needed to judge them. */
export function compareDocument(results: CompareResults): Document {
  const rows = compareRows(results);
  const { settings, machine } = results;
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(compareCaveats(results).join(" ")),
      ...paragraph(
        prose(
          `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat. *Held*: with the horizon held by ${settings.horizon}.`,
        ),
      ),
      reportRows("Every system", mainColumns, rows, textColumns),
      heading("More of the same"),
      reportRows("More of the same", moreColumns, rows, textColumns),
      ...paragraph(
        prose(
          "*Latency*: from when a message was due to be sent until a consumer had it in hand, at a rate that leaves consumers idle. *WAL* and *server CPU*: for each finished message, with all that sending it cost; the CPU is that of PostgreSQL, and of Redis where a system has one. *Harness busy*: how much of the time the one thread of JavaScript that all senders and consumers of a system share was, near to 100 % it limits the rate, and the server could do more. *Dead tuples*: in all tables of the system, when the load has stopped and the holder still holds.",
        ),
      ),
      ...closing(
        rows.map(({ system }) => described(systemNamed(system))),
        settingsLines(results),
        machine,
      ),
    ],
  };
}

function settingsLines({ settings }: CompareResults): string[] {
  return [
    `saturated: ${settings.producers} producers and ${settings.consumers} consumers as fast as they can, ${settings.sendBatch} messages of at least ${settings.payloadBytes} bytes a send, at most ${settings.batch} a receive; ${settings.seconds} s, then as long with the horizon held by ${settings.horizon}: ${horizonNamed(settings.horizon).summary}`,
    `paced: ${settings.rate} messages a second, one a send; as long without and with the horizon held`,
    `each in a fresh database, systems in turn, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
    `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise`,
    serverLine(settings),
  ];
}
