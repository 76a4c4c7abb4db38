import { systemNamed } from "../adapters/registry.ts";
import { closing } from "../report/closing.ts";
import { described, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { bytes, whole } from "../report/format.ts";
import { reportRows } from "../report/rows-table.ts";
import { serverLine } from "../report/server-line.ts";
import { columns, loadText, textColumns } from "./throughput-columns.ts";
import { throughputLoads } from "./throughput-loads.ts";
import type { ThroughputResults } from "./throughput-results.ts";
import { throughputCaveats, throughputRows } from "./throughput-summary.ts";

/** The table, and all that is needed to judge it. */
export function throughputDocument(results: ThroughputResults): Document {
  const rows = throughputRows(results);
  const { settings, machine } = results;
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(throughputCaveats(results).join(" ")),
      ...paragraph(
        `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat.`,
      ),
      reportRows("How fast messages are sent, and received", columns, rows, textColumns),
      ...paragraph(
        prose(
          "*Receive*: from a backlog, each batch finished before the next is received. *Dead tuples*: in all tables of the system when all is over, what autovacuum has left of them. *Server CPU* and *WAL*: of PostgreSQL while it was measured; what is changed was written after the last checkpoint, so few of its pages are logged whole. A library whose own workers receive is measured by `bench drain`.",
        ),
      ),
      ...closing(
        [...new Set(rows.map(({ system }) => system))].map((name) => described(systemNamed(name))),
        settingsLines(results),
        machine,
      ),
    ],
  };
}

function settingsLines({ settings }: ThroughputResults): string[] {
  const backlogs = throughputLoads(settings).flatMap((load) =>
    load.backlog === null
      ? []
      : [
          `${loadText(load)}, ${bytes(load.payloadBytes)}: a backlog of ${whole(load.backlog)} messages and one call more to warm up`,
        ],
  );
  return [
    `closed loop: each client calls again as soon as its last call has returned; ${settings.seconds} s a cell, a receive until its backlog is gone if that is sooner`,
    `a send is warmed up for ${settings.warmupSeconds} s, which does not count; a receive by one call; VACUUM and ANALYZE after the set-up and after a backlog; on an embedded server a checkpoint after the set-up, and none from then on`,
    ...backlogs,
    `calls of ${whole(settings.batch)} messages, fewer where their payloads would be more than 64 MiB, which client and server have in memory; 100,000 is the most that one receive of Pgque returns. Batches are sent, and received, on one connection`,
    "payloads are JSON of random characters, which PostgreSQL does not compress: rows above about 2 kB go to TOAST; they are made before the clock runs",
    "what goes on beside the load is what an operator would have scheduled for the system",
    "a cell counts only when at least as many rows are stored as messages were sent, and no more were finished than were sent",
    `each cell in a fresh database, systems in turn, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
    `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise; published with off`,
    serverLine(settings),
  ];
}
