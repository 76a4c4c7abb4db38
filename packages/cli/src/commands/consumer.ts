import type { Consumers, ConsumerSettings, ConsumerStatus, OptionDifference, Position } from "@pgque/client";
import { consumerOptions } from "@pgque/client/options";
import { clientCommand, commandGroup, type Flags } from "../command.ts";
import { OptionFlags } from "../option-flags.ts";
import { flag } from "../options.ts";
import { confirm } from "../output/confirm.ts";
import { showDifferences } from "../output/flags.ts";
import { showAge, showDuration, timeOrAge } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { printChange, printList, printResult } from "../output/print.ts";
import { type ConsumerRecord, consumerRecord, pausedColumn } from "../output/records.ts";
import type { Column } from "../output/table.ts";
import { counted, described, shellWord, showEstimate, showTime } from "../output/text.ts";
import { pauseAndResume } from "./pause-resume.ts";

/** Where in the log: the earliest that is kept, after the latest, or what was sent from a time on. */
const position = (text: string): Position =>
  text === "earliest" || text === "latest" ? text : timeOrAge(text, "earliest, latest, ");

const positions = "earliest, latest, a time like 2026-01-31T12:00:00Z, or how long ago: 2h";

const options = new OptionFlags(consumerOptions, {
  from: {
    flag: "--from <where>",
    help: `begin at: ${positions} (default: earliest for the first consumer, else latest)`,
    read: position,
  },
  strict: null,
});

/** Those that can be changed. */
const limits = new OptionFlags(consumerOptions, { mode: null, from: null, strict: null });

const add = clientCommand("add <queue> <consumer>", "reader", {
  description: "Add a consumer: a named reader that is given every message of the queue.",
  help: `
A worker adds its consumer itself. An existing consumer is left as it is, and different settings are reported.

Examples:
  pgque consumer add orders billing
  pgque consumer add orders audit --from 2026-01-31T12:00:00Z --max-in-flight 100
  pgque consumer add accounts ledger --mode ordered --on-failure block`,
  options: options.options(),
  async run(pgque, queue: string, consumer: string, flags: Flags) {
    const { created, differences, skipped } = await pgque.subscribe(queue, consumer, options.given(flags));
    await printResult(
      flags,
      { queue, consumer, added: created, differences, skipped },
      created
        ? `Added ${described({ queue, consumer })}.${skippedText(queue, consumer, skipped)}`
        : existingText(queue, consumer, differences),
    );
  },
});

function skippedText(queue: string, name: string, skipped: number): string {
  if (skipped === 0) return "";
  const count = skipped > 10_000 ? "more than 10,000 messages" : counted(skipped, "message");
  return ` It skips ${count} that ${skipped === 1 ? "was" : "were"} sent before; \`pgque consumer move ${shellWord(queue)} ${shellWord(name)} --to earliest\` brings them.`;
}

function existingText(queue: string, consumer: string, differences: readonly OptionDifference[]): string {
  const others =
    differences.length === 0
      ? ""
      : ` Other than named: ${showDifferences(differences)}. \`pgque consumer set ${shellWord(queue)} ${shellWord(consumer)}\` changes them.`;
  return `There is ${described({ queue, consumer })} already.${others}`;
}

/** How far a consumer is. */
export const backlogColumns = [
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "depth", cell: ({ depth, estimated }) => showEstimate(depth, estimated), align: "right" },
  { head: "in flight", cell: ({ inFlight, estimated }) => showEstimate(inFlight, estimated), align: "right" },
  { head: "lag", cell: ({ lagMs }) => showAge(lagMs), align: "right" },
] as const satisfies Column<ConsumerRecord>[];

type Listed = ConsumerRecord<ConsumerStatus & Omit<ConsumerSettings, "paused">>;

const [nameColumn, depthColumn, inFlightColumn, lagColumn] = backlogColumns;

const columns: Column<Listed>[] = [
  { head: "queue", cell: ({ queue }) => queue },
  nameColumn,
  { head: "mode", cell: ({ mode, onFailure }) => (onFailure ? `${mode}, ${onFailure}` : mode) },
  depthColumn,
  {
    ...inFlightColumn,
    cell: (row) => `${inFlightColumn.cell(row)}${row.maxInFlight ? ` of ${row.maxInFlight}` : ""}`,
  },
  lagColumn,
  { head: "received/s", cell: ({ receivedPerSecond }) => receivedPerSecond.toFixed(1), align: "right" },
  {
    head: "limit",
    cell: ({ maxInFlightPerKey, rateLimit, ratePeriodMs }) =>
      [
        ...(maxInFlightPerKey ? [`${maxInFlightPerKey} of a key`] : []),
        ...(rateLimit ? [`${rateLimit} per ${showDuration(ratePeriodMs ?? 1000)}`] : []),
      ].join(", "),
  },
  { head: "last received", cell: ({ receivedAt }) => showTime(receivedAt) },
  pausedColumn,
];

const list = clientCommand("list", "viewer", {
  alias: "ls",
  description: "List consumers with their progress and settings.",
  help: `
Up to 10,000 messages and 1,000 batches of a consumer are counted; ≈ marks an estimate.

Examples:
  pgque consumer list
  pgque consumer list orders --json | jq '.[] | {consumer, depth, lagMs}'`,
  arguments: [["[queue]", "only of this queue"]],
  async run({ consumers }, queue: string | undefined, flags: Flags) {
    const key = (of: { queue: string; name: string }) => JSON.stringify([of.queue, of.name]);
    const settings = new Map((await consumers.settings(queue)).map((one) => [key(one), one]));
    const found = (await consumers.list(queue)).flatMap((one) => {
      const own = settings.get(key(one));
      // one that has come in between has no settings yet
      return own ? [consumerRecord({ ...own, ...one })] : [];
    });
    await printList(
      flags,
      columns,
      found,
      "There is no consumer. `pgque consumer add QUEUE NAME` makes one, and so does a worker.",
    );
  },
});

const set = clientCommand("set <queue> <consumer>", "admin", {
  description: "Change the limits of a consumer; `none` takes one away, `default` resets it.",
  help: `
Examples:
  pgque consumer set orders billing --max-in-flight 50 --rate-limit 100
  pgque consumer set orders billing --rate-limit none`,
  options: limits.options({ changing: true }),
  async run({ consumers }, queue: string, consumer: string, flags: Flags) {
    const changes = limits.changes(flags);
    if (Object.keys(changes).length === 0)
      throw new UsageError("expected a limit to change, got none. `pgque consumer set --help` lists them");
    const names = { queue, consumer };
    const changed = await consumers.change(queue, consumer, changes);
    await printChange(flags, names, changed, `Changed ${described(names)}.`);
  },
});

const pausing = pauseAndResume("consumers", "<queue> <consumer>", {
  pause: [
    "Let a consumer receive nothing. What it has in flight can be settled, and other consumers go on.",
    "  pgque consumer pause orders billing",
  ],
  resume: ["End a pause, and wake idle workers.", "  pgque consumer resume orders billing"],
});

const move = clientCommand("move <queue> <consumer>", "reader", {
  description: "Move a consumer in the log: receive stored messages again, or skip messages.",
  help: `
Settled messages behind the new position come again while they are stored (--retention of the queue). The open batches and the
retries of the consumer are dropped.

Examples:
  pgque consumer move orders billing --to 2h
  pgque consumer move orders billing --to latest --yes`,
  options: [flag("--to <where>", positions, { read: position }).makeOptionMandatory()],
  yes: true,
  async run({ consumers }, queue: string, consumer: string, flags: Flags & { to: Position }) {
    const { to } = flags;
    const names = { queue, consumer };
    const where =
      to instanceof Date
        ? `what was sent from ${to.toISOString()} on`
        : to === "earliest"
          ? "the earliest message that is kept"
          : "after the latest message";
    await confirm(async () => {
      const backlog = await backlogOf(consumers, queue, consumer);
      return `This moves ${described(names)} (${backlog}) to ${where}; its open batches and retries are dropped.`;
    }, flags);
    await consumers.seek(queue, consumer, to);
    await printResult(flags, { ...names, moved: true }, `Moved ${described(names)} to ${where}.`);
  },
});

const remove = clientCommand("remove <queue> <consumer>", "reader", {
  alias: "rm",
  description: "Remove a consumer and its unreceived messages. Other consumers are not affected.",
  help: `
Examples:
  pgque consumer remove orders audit
  pgque consumer remove orders audit --yes`,
  yes: true,
  async run(pgque, queue: string, consumer: string, flags: Flags) {
    const names = { queue, consumer };
    await confirm(
      async () => `This removes ${described(names)}: ${await backlogOf(pgque.consumers, queue, consumer)}.`,
      flags,
    );
    if (!(await pgque.unsubscribe(queue, consumer))) throw missing(queue, consumer);
    await printResult(flags, { ...names, removed: true }, `Removed ${described(names)}.`);
  },
});

/** What a consumer would leave behind, in words. Asked for with the question alone: to look takes a right that to move or remove does not. */
async function backlogOf(consumers: Consumers, queue: string, name: string): Promise<string> {
  const found = (await consumers.list(queue)).find((one) => one.name === name);
  if (found === undefined) throw missing(queue, name);
  const about = found.estimated ? "about " : "";
  return `${about}${counted(found.depth, "message")} waiting, ${found.inFlight} in flight`;
}

function missing(queue: string, consumer: string): Error {
  return new Error(
    `expected ${described({ queue, consumer })}, found none. \`pgque consumer list ${shellWord(queue)}\` shows those that are there`,
  );
}

export const consumerCommand = commandGroup(
  "consumer",
  "Add, list, change, pause, move and remove consumers.",
  `
Examples:
  pgque consumer add orders billing --from earliest
  pgque consumer list orders
  pgque consumer move orders billing --to 2h   receive the messages of the last two hours again`,
  [add, list, set, ...pausing, move, remove],
);
