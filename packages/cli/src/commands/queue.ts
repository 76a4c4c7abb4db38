import { queueOptions } from "@pgque/client/options";
import { clientCommand, commandGroup, type Flags } from "../command.ts";
import { OptionFlags } from "../option-flags.ts";
import { flag } from "../options.ts";
import { confirmByName } from "../output/confirm.ts";
import { showDifferences } from "../output/flags.ts";
import { UsageError } from "../output/failure.ts";
import { printChange, printLine, printList, printResult } from "../output/print.ts";
import { consumerRecord, pausedColumn, type QueueRecord, queueRecord } from "../output/records.ts";
import type { Column } from "../output/table.ts";
import { counted, shellWord, showBytes, showTime } from "../output/text.ts";
import { backlogColumns } from "./consumer.ts";
import { pauseAndResume } from "./pause-resume.ts";

/** A flag for each setting of a queue. */
const settings = new OptionFlags(queueOptions);

const create = clientCommand("create", "admin", {
  description: "Create a queue. If it exists, it is left as it is, and different settings are reported.",
  help: `
\`pgque queue set\` changes an existing queue.

Examples:
  pgque queue create orders
  pgque queue create mails --priorities 10 --max-retries 3 --retention 2d`,
  arguments: [["<queue>", "name: any Unicode, at most 57 bytes"]],
  options: settings.options(),
  async run(pgque, queue: string, flags: Flags) {
    const { defineQueue } = await import("@pgque/client");
    const { created, differences } = await pgque.ensure(defineQueue(queue, settings.given(flags)));
    const quoted = JSON.stringify(queue);
    const others =
      differences.length > 0
        ? `: ${showDifferences(differences)}. \`pgque queue set ${shellWord(queue)}\` changes them`
        : "";
    await printResult(
      flags,
      { queue, created, differences },
      created
        ? `Created queue ${quoted}.`
        : `Queue ${quoted} is there already. Its settings were left as they are${others}.`,
    );
  },
});

const columns: Column<QueueRecord>[] = [
  { head: "queue", cell: ({ queue }) => queue },
  { head: "consumers", cell: ({ consumerCount }) => consumerCount, align: "right" },
  { head: "sent/s", cell: ({ sentPerSecond }) => sentPerSecond.toFixed(1), align: "right" },
  { head: "delayed", cell: ({ delayed }) => delayed, align: "right" },
  { head: "dead letters", cell: ({ deadLetters }) => deadLetters, align: "right" },
  { head: "size", cell: ({ bytes }) => showBytes(bytes), align: "right" },
  pausedColumn,
];

const list = clientCommand("list", "viewer", {
  alias: "ls",
  description: "List the queues.",
  help: `
Examples:
  pgque queue list
  pgque queue list --json | jq -r '.[] | select(.deadLetters > 0) | .queue'`,
  run: async ({ queues }, flags: Flags) =>
    printList(
      flags,
      columns,
      (await queues.list()).map(queueRecord),
      "There is no queue. `pgque queue create NAME` makes one.",
    ),
});

const show = clientCommand("show <queue>", "viewer", {
  description: "Show one queue: its state, settings, consumers, and the segments that cannot be truncated.",
  help: `
Examples:
  pgque queue show orders
  pgque queue show orders --json | jq .settings.maxRetries`,
  async run(pgque, name: string, flags: Flags) {
    const found = {
      ...queueRecord(await pgque.queues.status(name)),
      settings: await pgque.queues.settings(name),
      consumers: (await pgque.consumers.list(name)).map(consumerRecord),
      segments: await pgque.queues.segments(name),
    };
    if (flags.json) return printResult(flags, found, "");
    const { facts, table } = await import("../output/table.ts");
    const { sentPerSecond, delayed, deadLetters, bytes, paused, rotatedAt, segments } = found;
    const kept = segments.filter(({ waitsFor }) => waitsFor !== null && waitsFor.length > 0);
    const state = {
      queue: name,
      state: paused ? "paused" : "runs",
      "sent/s": sentPerSecond.toFixed(1),
      delayed,
      "dead letters": deadLetters,
      size: `${showBytes(bytes)} in ${counted(segments.length, "segment")}, the current one since ${showTime(rotatedAt)}`,
      ...Object.fromEntries(kept.map(({ segment, waitsFor }) => [`segment ${segment} waits`, waitsFor?.join("; ")])),
    };
    const readers =
      found.consumers.length === 0
        ? `No consumer. \`pgque consumer add ${shellWord(name)} NAME\` makes one.`
        : table([...backlogColumns, pausedColumn], found.consumers);
    await printLine([facts(state), facts(settings.show(found.settings)), readers].join("\n\n"));
  },
});

const set = clientCommand("set <queue>", "admin", {
  description: "Change settings of a queue: all of them, or none when one is invalid.",
  help: `
The value \`default\` resets a setting. --partitions and --priorities can be raised, not set or lowered. --allow-expiry cannot be
switched off.

Examples:
  pgque queue set orders --max-retries 10 --retention 1d
  pgque queue set orders --max-lag default`,
  options: settings.options({ changing: true }),
  async run({ queues }, queue: string, flags: Flags) {
    const changes = settings.changes(flags);
    if (Object.keys(changes).length === 0)
      throw new UsageError("expected a setting to change, got none. `pgque queue set --help` lists them");
    await printChange(flags, { queue }, await queues.change(queue, changes), `Changed queue ${JSON.stringify(queue)}.`);
  },
});

const pausing = pauseAndResume("queues", "<queue>", {
  pause: [
    "Let no consumer receive from a queue. What is in flight can be settled, and sends go on.",
    "  pgque queue pause orders\n  pgque consumer pause orders billing   only one of its consumers",
  ],
  resume: ["End a pause, and wake idle workers.", "  pgque queue resume orders"],
});

const purge = clientCommand("purge <queue>", "admin", {
  description: "Delete all messages that are not settled, delayed ones included. Dead letters stay.",
  help: `
Asks for the name of the queue to be typed.

Examples:
  pgque queue purge orders
  pgque queue purge orders --consumer billing --yes`,
  options: [
    flag("--consumer <name>", "only the messages that this consumer has not received; other consumers keep them"),
  ],
  yes: true,
  async run({ queues, consumers }, queue: string, flags: Flags & { consumer?: string }) {
    const { consumer } = flags;
    await queues.status(queue);
    const whose = consumer === undefined ? "" : ` for consumer ${JSON.stringify(consumer)}`;
    await confirmByName(`This throws away what waits in queue ${JSON.stringify(queue)}${whose}.`, queue, flags);
    const purged = await (consumer === undefined ? queues.purge(queue) : consumers.purge(queue, consumer));
    await printResult(flags, { queue, purged }, `Threw away ${counted(purged, "message")}.`);
  },
});

const drop = clientCommand("drop <queue>", "admin", {
  description: "Drop a queue, its messages, its dead letters and its schedules.",
  help: `
Asks for the name of the queue to be typed.

Examples:
  pgque queue drop outdated
  pgque queue drop outdated --force --yes`,
  options: [flag("--force", "also when consumers are subscribed")],
  yes: true,
  async run({ queues }, queue: string, flags: Flags & { force?: true }) {
    const { consumers, bytes, deadLetters } = await queues.status(queue);
    const quoted = JSON.stringify(queue);
    const what = `${counted(consumers, "consumer")}, ${counted(deadLetters, "dead letter")}, ${showBytes(bytes)} of messages`;
    await confirmByName(`This drops queue ${quoted}: ${what}.`, queue, flags);
    await queues.drop(queue, { force: flags.force ?? false });
    await printResult(flags, { queue, dropped: true }, `Dropped queue ${quoted}.`);
  },
});

export const queueCommand = commandGroup(
  "queue",
  "Create, show, change, pause, purge and drop queues.",
  `
Examples:
  pgque queue create orders --max-retries 10
  pgque queue list
  pgque queue pause orders`,
  [create, list, show, set, ...pausing, purge, drop],
);
