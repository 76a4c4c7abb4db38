import { pointerBytes } from "../measure/growth.ts";
import { described, heading, list, paragraph, prose, titleOf, type Document } from "../report/document.ts";
import { whole } from "../report/format.ts";
import { closing } from "../report/closing.ts";
import { publishedSection } from "../report/published.ts";
import { drainPublished } from "./drain-published.ts";
import { reportRows } from "../report/rows-table.ts";
import { serverLine } from "../report/server-line.ts";
import { mainColumns, moreColumns, textColumns } from "./drain-columns.ts";
import type { DrainResults } from "./drain-results.ts";
import { drainCaveats, drainRows, drainVerdicts } from "./drain-summary.ts";

/** What was met, the tables, and all that is needed to judge them. */
export function drainDocument(results: DrainResults): Document {
  const rows = drainRows(results);
  const { settings, machine } = results;
  const systems = [...new Set(rows.map(({ system }) => system))];
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(drainCaveats(results).join(" ")),
      ...list(drainVerdicts(rows)),
      ...paragraph(
        `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat; targets are compared with its median.`,
      ),
      reportRows("How fast each system drains", mainColumns, rows, textColumns),
      heading("More of the same"),
      reportRows("More of the same", moreColumns, rows, textColumns),
      ...paragraph(
        prose(
          "*Server CPU*: of all of PostgreSQL's processes, or of Redis, for a thousand messages. *Worker CPU*: of all worker processes. Their sum is compared in the column of ratios of CPU, which depends less on what else the machine does. *RSS, most*: of the worker process that had most. *Others' CPU*: of whatever else ran on the machine during a cell.",
        ),
      ),
      ...publishedSection(drainPublished(rows)),
      ...closing(systems.map(described), settingsLines(results), machine),
    ],
  };
}

function settingsLines({ settings }: DrainResults): string[] {
  const { messages, ahead } = settings;
  const before =
    ahead < messages
      ? `${whole(ahead)} of them before the start, the rest so that about as many are always ahead`
      : "all sent before the start";
  return [
    `${whole(messages)} messages of a number each, ${before}; then VACUUM, ANALYZE and a checkpoint of PostgreSQL`,
    `each cell in a database, or a Redis, of its own; systems in turn with each number of processes, ${settings.repeat} repeat(s); who comes first changes from repeat to repeat`,
    "every worker is a Node.js process of its own, with one handler that notes the number and returns",
    "time runs from the start signal, when every process has loaded its modules and opened its connections, until the last message is settled: all are handled, and the server has nothing left that is waiting or under way",
    "a cell counts only when every number was handled once, by what the processes noted",
    ...(settings.memory
      ? [
          `memory: of the first process, each second, after its garbage was collected, the first fifth left out. The slope is the median of those between every two samples (Theil–Sen), in brackets its range with a probability of 95 %. Flat: that range is below ${pointerBytes} bytes a message, for heap and RSS: a pointer is the least that is kept of anything`,
        ]
      : []),
    `synchronous_commit ${settings.synchronousCommit}: what is settled is on the disk. (Pgque's receive does not wait for it: one that is lost is made again.)`,
    serverLine(settings),
  ];
}
