import { horizonNamed } from "../horizons/registry.ts";
import { closing } from "../report/scenario-report.ts";
import { described, heading, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { reportRows } from "../report/table.ts";
import { serverLine } from "../report/results.ts";
import { degradationCharts } from "./degradation-charts.ts";
import { mainColumns, moreColumns, textColumns } from "./degradation-columns.ts";
import type { DegradationResults, DegradationSamples } from "./degradation-results.ts";
import { longTransaction } from "./degradation-settings.ts";
import { degradationCaveats, degradationRows } from "./degradation-summary.ts";
import { degradedSystems, named } from "../adapters/registry.ts";
import { runawaySeconds } from "./runaway.ts";

/** The tables and charts, and all that is needed to judge them. */
export function degradationDocument(results: DegradationResults, samples: DegradationSamples[]): Document {
  const rows = degradationRows(results);
  const ours = rows.filter(({ published }) => !published);
  const { settings, machine } = results;
  const { endSeconds, rate } = settings;
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(degradationCaveats(results).join(" ")),
      reportRows("What a long transaction does", mainColumns, rows, textColumns),
      ...paragraph(
        prose(
          `*Ran away after*: from when the transaction was opened until the backlog was beyond what is sent in ${runawaySeconds} s (${runawaySeconds * rate}), and stayed there. *Lock time*: the median time of the one statement that picks a message and locks it, as its client sees it, when it found one; *clean* before the transaction was opened, *end* in its last ${endSeconds} s. *Dead tuples*: in all tables of the system, when the load has stopped and the transaction is still open. *CPU*: of PostgreSQL, while the transaction was open.`,
        ),
      ),
      heading("More of the same"),
      reportRows("More of the same", moreColumns, ours, textColumns),
      heading("Over time"),
      { kind: "charts", data: degradationCharts(results, samples) },
      ...closing(
        ours.map((row) => {
          const { name, system } = named(degradedSystems, row.name);
          return described({ ...system, name });
        }),
        settingsLines(results),
        machine,
      ),
    ],
  };
}

function settingsLines({ settings }: DegradationResults): string[] {
  return [
    `one producer, ${settings.rate} messages/s of ${settings.payloadBytes} bytes, one a send, open loop; ${settings.consumers} consumer(s), one message a receive (pgque-batch: up to 100), 10 ms of waiting after an empty one; the handler does nothing`,
    `${settings.cleanSeconds} s clean, then ${settings.heldSeconds} s with the long transaction open: ${horizonNamed(longTransaction).summary}`,
    `each system in a fresh database, ${settings.repeat} repeat(s), one system after the other: one that collapses takes a core for itself, and those beside it would be slowed by that and not by their own dead rows`,
    `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise; Pgque rotates at its defaults`,
    serverLine(settings),
  ];
}
