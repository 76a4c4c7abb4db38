import { senderNamed } from "../adapters/registry.ts";
import type { Group } from "../adapters/adapter.ts";
import { sendersOf } from "./sends-plan.ts";
import {
  described,
  heading,
  list,
  paragraph,
  prose,
  titleOf,
  type Document,
  type Item,
  type TableBlock,
} from "../report/document.ts";
import { closing } from "../report/closing.ts";
import { reportRows } from "../report/rows-table.ts";
import { mainColumns, moreColumns, textColumns, type SendsColumn } from "./sends-columns.ts";
import type { SendsResults } from "./sends-results.ts";
import { sendsCaveats, sendsRows, sendsVerdicts, type SendsRow } from "./sends-summary.ts";
import { serverLine } from "../report/server-line.ts";

const titles: Record<Group, string> = {
  many: "Many messages in one call, on one connection",
  one: "One message in one call and transaction",
};

/** What was met, the tables, and all that is needed to judge them. */
export function sendsDocument(results: SendsResults): Document {
  const rows = sendsRows(results);
  const { settings, machine } = results;
  const groups = groupsIn(rows);
  return {
    title: titleOf(results),
    blocks: [
      ...paragraph(sendsCaveats(results).join(" ")),
      ...list(sendsVerdicts(rows)),
      ...paragraph(
        `The median of ${settings.repeat} repeat(s), and the range in brackets. A ratio is that of two cells of the same repeat; targets are compared with its median.`,
      ),
      ...groups.flatMap((group) => [heading(titles[group]), table(titles[group], mainColumns(group), rows, group)]),
      ...groups.flatMap((group) => {
        const title = `${titles[group]}: more of the same`;
        return [heading(title), table(title, moreColumns(group), rows, group)];
      }),
      ...paragraph(
        prose(
          "*Server CPU*: of all of PostgreSQL's processes, or of Redis, for a thousand messages. *Client CPU*: of the process that sends. Their sum is compared in the column of ratios of CPU, which depends less on what else the machine does. *Others' CPU*: of whatever else ran on the machine during a cell.",
        ),
      ),
      ...closing(
        groups.flatMap((group) => sendersOf(group, settings).map((name) => description(group, name))),
        settingsLines(results),
        machine,
      ),
    ],
  };
}

const groupsIn = (rows: SendsRow[]): Group[] => [...new Set(rows.map(({ load }) => load.group))];

function table(title: string, columns: SendsColumn[], rows: SendsRow[], group: Group): TableBlock {
  return reportRows(
    title,
    columns,
    rows.filter(({ load }) => load.group === group),
    textColumns,
  );
}

function description(group: Group, name: string): Item {
  const sender = senderNamed(group, name);
  return { ...described(sender), text: prose(`**${name}** (${group}): ${sender.summary}.`) };
}

function settingsLines({ settings }: SendsResults): string[] {
  return [
    `${settings.repeat} repeat(s); under each load the systems in turn, in rounds of about ${settings.roundSeconds} s, so that what else the machine does meets all; who comes first changes from repeat to repeat`,
    `${settings.seconds} s a cell after ${settings.warmupSeconds} s that do not count, each in a database, or a Redis, of its own; a checkpoint before each load; a closed loop of one call on each connection, driven by tinybench`,
    "payloads are orders with their lines, made before the cell as objects: every system turns them into JSON itself",
    "what is stored is counted after each cell; if it is not what was sent, the cell is an error. Nobody receives and nobody waits for messages",
    `synchronous_commit ${settings.synchronousCommit} on every connection: a call returns when its messages are on the disk`,
    serverLine(settings),
  ];
}
