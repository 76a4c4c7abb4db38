import { dynamicMs } from "../horizons/advancing-feedback.ts";
import { systemNamed } from "../adapters/registry.ts";
import { closing } from "../report/scenario-report.ts";
import { described, heading, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { reportRows } from "../report/table.ts";
import { serverLine } from "../report/results.ts";
import { publishedHot } from "./published.ts";
import { loadColumns, moreColumns, queueColumns, tableColumns, textColumns } from "./retention-columns.ts";
import type { RetentionResults } from "./retention-results.ts";
import { retentionCaveats, retentionRows } from "./retention-summary.ts";
import { perScale } from "./tpcb-tables.ts";

/** In the words of the reports and of the terminal. */
export const publishedText =
  'Published: what Hayato Kuroda measured on pgsql-hackers in 2024, in the thread on "update_deleted" and the detection of conflicts, ' +
  "with pgbench on a machine of his and no queue beside it: TPS with the interval over TPS without. Of the updates of accounts there " +
  `${publishedHot.without} were HOT without, ${publishedHot.retained} with what was retained. It says how much an interval costs there, and no more.`;

/** The tables, and all that is needed to judge them. */
export function retentionDocument(results: RetentionResults): Document {
  const rows = retentionRows(results);
  const { settings, machine } = results;
  const table = (caption: string, columns: typeof loadColumns) => [
    heading(caption),
    reportRows(caption, columns, rows, textColumns),
  ];
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(retentionCaveats(results).join(" ")),
      ...paragraph(
        prose(
          `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat. *Interval*: how long the slot keeps what dies before it moves on.`,
        ),
      ),
      ...table("What the load does", loadColumns),
      ...paragraph(publishedText),
      ...table("What the queue beside it does", queueColumns),
      ...table("The tables of the load", tableColumns),
      ...paragraph(
        prose(
          "*HOT*: updates that touched no index, of all updates (`n_tup_hot_upd / n_tup_upd`). *Heap fetches*: rows that an index scan found alive (`idx_tup_fetch / idx_scan`). *Entries read*: what it read in the index to find them, dead ones included (`idx_tup_read / idx_scan`). *Buffers*: pages of index and table that it takes to find a random row by its key when the load has stopped. A dash: the planner of the load scanned the table, which is small, and no index.",
        ),
      ),
      ...table("The slot and the machine", moreColumns),
      ...paragraph(
        prose(
          "*Age*: how long before each look, from another session, the horizon of the slot was the oldest open transaction. *Dead tuples*: counted page by page when the load has stopped and the slot still holds. *Server CPU*: of load and queue together.",
        ),
      ),
      ...closing(
        settings.systems.map((name) => described(systemNamed(name))),
        settingsLines(results),
        machine,
      ),
    ],
  };
}

function settingsLines({ settings }: RetentionResults): string[] {
  const { scale, tpcbClients, seconds, rate } = settings;
  return [
    `the load: pgbench's TPC-B-like transaction (three UPDATEs, a SELECT, an INSERT between BEGIN and COMMIT, a round trip each, prepared) on ${scale * perScale.accounts} accounts, ${scale * perScale.tellers} tellers, ${scale * perScale.branches} branches; ${tpcbClients} clients as fast as they can for ${seconds} s. Not pgbench: a Node client, in a process of its own`,
    `the queue beside it: ${rate} messages a second in an open loop, one of at least ${settings.payloadBytes} bytes a send; ${settings.producers} producers, ${settings.consumers} consumers, at most ${settings.batch} a receive`,
    "the slot: a physical one whose standby reports by hot standby feedback, when an interval is over, the transaction that is the oldest open one then. The standby takes no WAL",
    `dynamic: ${dynamicMs.min} ms, doubled up to ${dynamicMs.max / 1000} s each time that no transaction id was assigned in it, ${dynamicMs.min} ms again when one was`,
    "a cell counts only when another session saw the slot move on and be as old as its interval makes it, without one when nobody held the horizon, and when the history has a row for every transaction",
    `each cell in a fresh database, filled, vacuumed and checkpointed; systems in turn, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
    `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise`,
    serverLine(settings),
  ];
}
