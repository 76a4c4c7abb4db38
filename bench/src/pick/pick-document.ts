import { closing } from "../report/closing.ts";
import { described, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { reportRows } from "../report/rows-table.ts";
import { serverLine } from "../report/server-line.ts";
import { columns, textColumns } from "./pick-columns.ts";
import type { PickResults } from "./pick-results.ts";
import { pickCaveats, pickRows } from "./pick-summary.ts";

/** The table, and all that is needed to judge it. */
export function pickDocument(results: PickResults): Document {
  const rows = pickRows(results);
  const { settings, machine } = results;
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(pickCaveats(results).join(" ")),
      ...paragraph(
        `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat.`,
      ),
      reportRows("How long all jobs take", columns, rows, textColumns),
      ...paragraph(
        prose(
          '*Published*: what depesz measured in "What is SKIP LOCKED for in PostgreSQL 9.5" (2016) for 10,000 jobs and eight workers, on a machine of his and with a program of his: it says how one way compares with the other there, and no more. *pgque* receives one message at a time here, and receives of one consumer wait for one another; *pgque-batch* is how it is meant to be used. *Out of order*: jobs that were begun while more of a higher priority were left than the other workers could have had in hand.',
        ),
      ),
      ...closing(
        rows.map(({ picker }) => described(picker)),
        settingsLines(results),
        machine,
      ),
    ],
  };
}

function settingsLines({ settings }: PickResults): string[] {
  return [
    `${settings.jobs} jobs of priority 0 to 9, all there at the start, then VACUUM, ANALYZE and a checkpoint; ${settings.workers} workers, each picks the job with the highest priority, computes the MD5 of its payload and finishes it, until none is left`,
    `each cell in a fresh database, systems in turn, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
    "a cell counts only when every job was done once",
    `synchronous_commit ${settings.synchronousCommit}, unless a system's line says otherwise`,
    serverLine(settings),
  ];
}
