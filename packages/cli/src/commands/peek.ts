import type { PeekedMessage } from "@pgque/client";
import { peekOptions } from "@pgque/client/options";
import { clientCommand, type Flags } from "../command.ts";
import { OptionFlags } from "../option-flags.ts";
import { json } from "../output/json.ts";
import { printLine, printList } from "../output/print.ts";
import type { Column } from "../output/table.ts";
import { shellWord, shortened, showTime } from "../output/text.ts";

const options = new OptionFlags(peekOptions, { max: { flag: "--limit <n>" }, after: { flag: "--after <position>" } });

const columns: Column<PeekedMessage>[] = [
  { head: "id", cell: ({ id }) => id, align: "right" },
  { head: "sent", cell: ({ createdAt }) => showTime(createdAt) },
  { head: "due", cell: ({ dueAt }) => showTime(dueAt) },
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "attempt", cell: ({ attempt }) => attempt, align: "right" },
  { head: "priority", cell: ({ priority }) => priority, align: "right" },
  { head: "key", cell: ({ key }) => key },
  { head: "type", cell: ({ type }) => type },
  { head: "payload", cell: ({ payload }) => shortened(json(payload, 0)) },
];

export const peekCommand = clientCommand("peek <queue>", "viewer", {
  description: "Look at messages without receiving them.",
  help: `
Nothing is received, written or locked. Without --consumer all stored messages are shown, the oldest first, received or not. With
it the next messages of that consumer are shown. Delayed messages come last, with their due time.

Examples:
  pgque peek orders
  pgque peek orders --consumer billing --limit 50
  pgque peek orders --json | jq '.[].payload'
  pgque peek orders --after 0.812.17   the next page: the position is in the JSON, and under the table`,
  options: options.options(),
  async run({ messages }, queue: string, flags: Flags) {
    const given = options.given(flags);
    const { consumer, max = peekOptions.max.default, after } = given;
    const found = await messages.peek(queue, given);
    // a column in which nothing stands only takes room
    const used = columns.filter(
      ({ head, cell }) =>
        !["due", "consumer", "priority", "key"].includes(head) || found.some((row) => cell(row) !== null),
    );
    await printList(flags, used, found, after === undefined ? "There is no message." : "There is no further message.");
    const last = found.at(-1);
    if (flags.json || last === undefined || found.length < max) return;
    const same = consumer === undefined ? "" : ` --consumer ${shellWord(consumer)}`;
    const next = `pgque peek ${shellWord(queue)}${same} --limit ${max} --after ${last.position}`;
    await printLine(`\nThere may be more: ${next}`);
  },
});
