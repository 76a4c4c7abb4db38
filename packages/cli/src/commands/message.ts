import type { Cancellation, FoundMessage, ReportedProgress, StoredStep } from "@pgque/client";
import { InvalidArgumentError } from "commander";
import { clientCommand, commandGroup, type Flags } from "../command.ts";
import { flag, given, id } from "../options.ts";
import { UsageError } from "../output/failure.ts";
import { json } from "../output/json.ts";
import { printLine, printList, printResult } from "../output/print.ts";
import type { Column } from "../output/table.ts";
import { counted, shellWord, showTime } from "../output/text.ts";

/** When something happened, or will: the time that belongs to the state. */
function whenOf({ dueAt, leasedUntil, settledAt, diedAt }: FoundMessage): string | null {
  if (dueAt !== null) return `due ${showTime(dueAt)}`;
  if (leasedUntil !== null) return `leased until ${showTime(leasedUntil)}`;
  return showTime(settledAt ?? diedAt);
}

const places: Column<FoundMessage>[] = [
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "state", cell: ({ state }) => state },
  { head: "attempt", cell: ({ attempt }) => attempt, align: "right" },
  { head: "when", cell: whenOf },
  { head: "worker", cell: ({ worker }) => worker },
  { head: "reason", cell: ({ reason }) => reason },
];

const stepColumns: Column<StoredStep & { consumer: string }>[] = [
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "step", cell: ({ step }) => step },
  { head: "stored", cell: ({ storedAt }) => showTime(storedAt) },
  { head: "result", cell: ({ result: of }) => (of === undefined ? null : json(of, 0)) },
];

const progressColumns: Column<ReportedProgress & { consumer: string }>[] = [
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "attempt", cell: ({ attempt }) => attempt, align: "right" },
  { head: "reported", cell: ({ reportedAt }) => showTime(reportedAt) },
  { head: "", cell: ({ kind }) => kind },
  { head: "report", cell: ({ kind, value }) => (kind === "log" ? String(value) : json(value, 0)) },
];

/** What is known of each consumer's handlers. */
async function byConsumer<Known>(
  found: readonly FoundMessage[],
  ask: (consumer: string) => Promise<Known[]>,
): Promise<Record<string, Known[]>> {
  const consumers = new Set(found.map(({ consumer }) => consumer).filter((consumer) => consumer !== null));
  return Object.fromEntries(
    await Promise.all(Array.from(consumers, async (consumer) => [consumer, await ask(consumer)] as const)),
  );
}

const rowsOf = <Known>(known: Record<string, Known[]>): (Known & { consumer: string })[] =>
  Object.entries(known).flatMap(([consumer, all]) => all.map((one) => ({ consumer, ...one })));

const show = clientCommand("show <queue>", "viewer", {
  description:
    "Show one message: where it is for each consumer, what its handlers have stored and reported, its headers and its payload.",
  help: `
It reads everything that the queue keeps, unless the queue was created with --allow-cancel on. Nothing is received or changed.

Examples:
  pgque message show orders 8112
  pgque message show orders 8112 --json | jq '.[].state'`,
  arguments: [["<id>", "as `send` printed it", id]],
  async run({ messages }, queue: string, wanted: string, flags: Flags) {
    const found = await messages.find(queue, wanted);
    const [first] = found;
    if (first === undefined)
      throw new Error(
        `expected a message ${wanted} in queue ${JSON.stringify(queue)}, found none: it was never sent, or is settled by all and its segment truncated`,
      );
    const steps = await byConsumer(found, (consumer) => messages.steps(queue, wanted, { consumer }));
    const progress = await byConsumer(found, (consumer) => messages.progress(queue, wanted, { consumer }));
    if (flags.json) {
      const of = ({ consumer }: FoundMessage) => ({
        steps: steps[consumer ?? ""] ?? [],
        progress: progress[consumer ?? ""] ?? [],
      });
      return printLine(json(found.map((one) => ({ ...one, ...of(one) }))));
    }
    const { facts } = await import("../output/table.ts");
    const { type, createdAt, expiresAt, priority, key, headers, payload } = first;
    const known = { message: wanted, type, sent: showTime(createdAt), expires: showTime(expiresAt), priority, key };
    await printLine(facts({ ...known, headers: json(headers, 0) }));
    await printList(flags, places, found, "");
    if (rowsOf(steps).length > 0) await printList(flags, stepColumns, rowsOf(steps), "");
    if (rowsOf(progress).length > 0) await printList(flags, progressColumns, rowsOf(progress), "");
    await printLine(json(payload));
  },
});

const result = clientCommand("result <queue>", "viewer", {
  description: "Print what came of a message that was sent with --result-ttl, or called.",
  help: `
Prints the result of its handler as JSON; \`null\` when it gave none.
Exit code 1: the message is a dead letter, or nothing is known: not yet, or no more.

Examples:
  pgque message result reports 8112
  pgque message result reports 8112 --consumer mail --json`,
  arguments: [["<id>", "as `send` printed it", id]],
  options: [flag("--consumer <name>", "of this consumer (default: default)")],
  async run(pgque, queue: string, wanted: string, flags: Flags & { consumer?: string }) {
    const found = await pgque.result(queue, wanted, given({ consumer: flags.consumer }));
    if (found === undefined)
      throw new Error(
        `expected a result of message ${wanted} of queue ${JSON.stringify(queue)}, found none: it is not settled, was sent without --result-ttl, or that time is over`,
      );
    if (flags.json) await printLine(json(found));
    else if (found.state === "done") await printLine(json(found.result ?? null));
    if (found.state === "dead") process.exitCode = 1;
    if (found.state === "dead" && !flags.json)
      throw new Error(
        `message ${wanted} is a dead letter since ${showTime(found.settledAt)}: ${found.reason ?? "no reason was given"}`,
      );
  },
});

const columns: Column<Cancellation>[] = [
  { head: "id", cell: (one) => one.id, align: "right" },
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "state", cell: ({ state }) => state },
];

function messageIds(text: string, before: string[] = []): string[] {
  const all = [...before, id(text)];
  if (all.length > 1000) throw new InvalidArgumentError("Expected at most 1000 ids.");
  return all;
}

interface CancelFlags extends Flags {
  consumer?: string;
  key?: string[];
}

const cancel = clientCommand("cancel <queue>", "reader", {
  description: "Cancel messages that nobody has received: waiting, delayed, or to be tried again.",
  help: `
The queue was created with --allow-cancel on. A message is \`cancelled\` if no handler will be given it. One that a worker has is
\`in_flight\`: it was too late. A message is cancelled for all consumers, or for that of --consumer.
Exit code 1: one at least is not cancelled.

Examples:
  pgque message cancel reminders 8112 8113
  pgque message cancel reminders --key order-42
  pgque message cancel reminders 8112 --consumer mail --json`,
  arguments: [["[ids...]", "as `send` printed them", messageIds]],
  options: [
    flag("--key <key>", "the message with this dedupe key, which is free again then; may be repeated", {
      read: (text, before?: string[]) => [...(before ?? []), text],
    }),
    flag("--consumer <name>", "for this consumer alone (default: for all)"),
  ],
  async run(pgque, queue: string, wanted: string[] | undefined, flags: CancelFlags) {
    const { consumer, key: keys } = flags;
    if ((wanted === undefined || wanted.length === 0) === (keys === undefined))
      throw new UsageError("expected ids of messages, or --key");
    const options = given({ consumer });
    const answers =
      keys === undefined
        ? await pgque.cancel(queue, wanted ?? [], options)
        : await pgque.cancelByKey(queue, keys, options);
    const none = `No message has such a key. \`pgque peek ${shellWord(queue)}\` shows those that are there.`;
    await printList(flags, columns, answers, none);
    if (answers.length === 0 || answers.some(({ state }) => state !== "cancelled")) process.exitCode = 1;
  },
});

const runNow = clientCommand("run-now <queue>", "admin", {
  description: "Deliver a message that waits for its time: delayed, or to be tried again.",
  help: `
With an ordered consumer the messages that wait in the same lane come as well. Exit code 1: no such message waits.

Examples:
  pgque message run-now reminders 8112
  pgque message run-now reminders 8112 --consumer mail`,
  arguments: [["<id>", "as `send` printed it", id]],
  options: [flag("--consumer <name>", "to this consumer alone (default: to all for which it waits)")],
  async run({ queues }, queue: string, wanted: string, flags: Flags & { consumer?: string }) {
    const delivered = await queues.deliverDelayed(queue, { id: wanted, ...given({ consumer: flags.consumer }) });
    if (delivered === 0)
      throw new Error(
        `expected message ${wanted} of queue ${JSON.stringify(queue)} to wait for its time, found that it does not. \`pgque message show ${shellWord(queue)} ${wanted}\` says where it is`,
      );
    await printResult(flags, { queue, id: wanted, delivered }, `Delivered ${counted(delivered, "message")}.`);
  },
});

export const messageCommand = commandGroup(
  "message",
  "Show a single message or its result, cancel it, or deliver it before its time.",
  `
Examples:
  pgque message show orders 8112
  pgque message cancel reminders 8112 8113
  pgque message run-now reminders 8112`,
  [show, result, cancel, runNow],
);
