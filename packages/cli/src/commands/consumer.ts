import type { Consumers, ConsumerSettings, ConsumerStatus, OptionDifference, Position } from "@pgque/client";
import { consumerOptions } from "@pgque/client/options";
import { type Command, Command as Subcommand } from "commander";
import { type DatabaseFlags, withDatabase } from "../connection.ts";
import { withPgque } from "../database.ts";
import { OptionFlags } from "../option-flags.ts";
import { withJson, withYes } from "../options.ts";
import { confirm, type ConfirmFlags } from "../output/confirm.ts";
import { showDifferences } from "../output/flags.ts";
import { showAge, showDuration, timeOrAge } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { type JsonFlags, printChange, printList, printResult } from "../output/print.ts";
import { type ConsumerRecord, consumerRecord } from "../output/records.ts";
import type { Column } from "../output/table.ts";
import { counted, described, shellWord, showEstimate, showTime } from "../output/text.ts";
import { pauseAndResume } from "./pause-resume.ts";

interface Flags extends DatabaseFlags, JsonFlags {}

const examples = `
Examples:
  pgque consumer add orders billing --from start
  pgque consumer list orders
  pgque consumer move orders billing --to 2h   receive the messages of the last two hours again

pgque consumer COMMAND --help has more for each.`;

/** The `consumer` command. */
export function consumerCommand(): Command {
  const consumer = new Subcommand("consumer")
    .description("Add, list, change, pause, move and remove consumers.")
    .addHelpText("after", examples);
  for (const command of [add(), list(), set(), ...pausing(), move(), remove()]) consumer.addCommand(command);
  return consumer;
}

function command(name: string): Command {
  return withDatabase(withJson(new Subcommand(name).argument("<queue>").argument("<consumer>")));
}

const nameOf = (queue: string, consumer: string): string => described({ queue, consumer });

/** Where in the log: its start, its end, or what was sent from a time on. */
function position(text: string): Position {
  if (text === "start") return "earliest";
  if (text === "end") return "latest";
  return timeOrAge(text);
}

const positions = "start, end, a time like 2026-01-31T12:00:00Z, or how long ago: 2h";

const options = new OptionFlags(consumerOptions, {
  from: {
    flag: "--from <where>",
    help: `begin at: ${positions} (default: start for the first consumer, else end)`,
    read: position,
  },
  strict: null,
});

/** Those that can be changed. */
const limits = new OptionFlags(consumerOptions, { mode: null, from: null, strict: null });

function add(): Command {
  return options
    .addTo(command("add"))
    .description("Add a consumer: a named reader that is given every message of the queue.")
    .addHelpText(
      "after",
      `
A worker adds its consumer itself. An existing consumer is left as it is, and different settings are reported.

Examples:
  pgque consumer add orders billing
  pgque consumer add orders audit --from 2026-01-31T12:00:00Z --max-in-flight 100
  pgque consumer add accounts ledger --mode ordered --on-failure block`,
    )
    .action(async (queue: string, name: string, flags: Flags) => {
      const { created, differences, skipped } = await withPgque(flags, "reader", (pgque) =>
        pgque.subscribe(queue, name, options.given(flags)),
      );
      await printResult(
        flags,
        { queue, consumer: name, added: created, differences, skipped },
        created
          ? `Added ${nameOf(queue, name)}.${skippedText(queue, name, skipped)}`
          : existingText(queue, name, differences),
      );
    });
}

function skippedText(queue: string, name: string, skipped: number): string {
  if (skipped === 0) return "";
  const count = skipped > 10_000 ? "more than 10,000 messages" : counted(skipped, "message");
  return ` It skips ${count} that ${skipped === 1 ? "was" : "were"} sent before; \`pgque consumer move ${shellWord(queue)} ${shellWord(name)} --to start\` brings them.`;
}

function existingText(queue: string, name: string, differences: readonly OptionDifference[]): string {
  const others =
    differences.length === 0
      ? ""
      : ` Other than named: ${showDifferences(differences)}. \`pgque consumer set ${shellWord(queue)} ${shellWord(name)}\` changes them.`;
  return `There is ${nameOf(queue, name)} already.${others}`;
}

type Listed = ConsumerRecord<ConsumerStatus & Omit<ConsumerSettings, "paused">>;

const columns: Column<Listed>[] = [
  { head: "queue", cell: ({ queue }) => queue },
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "mode", cell: ({ mode, onFailure }) => (onFailure ? `${mode}, ${onFailure}` : mode) },
  { head: "to receive", cell: ({ depth, estimated }) => showEstimate(depth, estimated), align: "right" },
  {
    head: "in flight",
    cell: ({ inFlight, maxInFlight, estimated }) =>
      `${showEstimate(inFlight, estimated)}${maxInFlight ? ` of ${maxInFlight}` : ""}`,
    align: "right",
  },
  { head: "lag", cell: ({ lagMs }) => showAge(lagMs), align: "right" },
  { head: "received/s", cell: ({ receivedPerSecond }) => receivedPerSecond.toFixed(1), align: "right" },
  {
    head: "limit",
    cell: ({ rateLimit, ratePeriodMs }) => rateLimit && `${rateLimit} per ${showDuration(ratePeriodMs ?? 1000)}`,
  },
  { head: "last received", cell: ({ receivedAt }) => showTime(receivedAt) },
  { head: "state", cell: ({ paused }) => (paused ? "paused" : "") },
];

function list(): Command {
  return withDatabase(withJson(new Subcommand("list").alias("ls").argument("[queue]", "only of this queue")))
    .description("List consumers with their progress and settings.")
    .addHelpText(
      "after",
      `
Up to 10,000 messages and 1,000 batches of a consumer are counted; ≈ marks an estimate.

Examples:
  pgque consumer list
  pgque consumer list orders --json | jq '.[] | {consumer, depth, lagMs}'`,
    )
    .action(async (queue: string | undefined, flags: Flags) => {
      const found = await withPgque(flags, "viewer", async ({ consumers }) => {
        const settings = new Map(
          (await consumers.settings(queue)).map((one) => [JSON.stringify([one.queue, one.name]), one]),
        );
        const status = await consumers.list(queue);
        // one that has come in between has no settings yet
        return status.flatMap((one) => {
          const own = settings.get(JSON.stringify([one.queue, one.name]));
          return own ? [consumerRecord({ ...own, ...one })] : [];
        });
      });
      await printList(
        flags,
        columns,
        found,
        "There is no consumer. `pgque consumer add QUEUE NAME` makes one, and so does a worker.",
      );
    });
}

function set(): Command {
  return limits
    .addTo(command("set"), { changing: true })
    .description("Change the limits of a consumer; `none` takes one away.")
    .addHelpText(
      "after",
      "\nExamples:\n  pgque consumer set orders billing --max-in-flight 50 --rate-limit 100\n  pgque consumer set orders billing --rate-limit none",
    )
    .action(async (queue: string, name: string, flags: Flags) => {
      const changes = limits.changes(flags);
      if (Object.keys(changes).length === 0)
        throw new UsageError("expected a limit to change, got none. `pgque consumer set --help` lists them");
      const changed = await withPgque(flags, "admin", ({ consumers }) => consumers.change(queue, name, changes));
      await printChange(flags, { queue, consumer: name }, changed, `Changed ${nameOf(queue, name)}.`);
    });
}

const pausing = (): Command[] =>
  pauseAndResume("consumers", command, {
    pause: [
      "Let a consumer receive nothing. What it has in flight can be settled, and other consumers go on.",
      "  pgque consumer pause orders billing",
    ],
    resume: ["End a pause, and wake idle workers.", "  pgque consumer resume orders billing"],
  });

function move(): Command {
  return withYes(command("move"))
    .requiredOption("--to <where>", positions, position)
    .description("Move a consumer in the log: receive stored messages again, or skip messages.")
    .addHelpText(
      "after",
      `
Settled messages behind the new position come again while they are stored (--retention of the queue). The open batches and the
retries of the consumer are dropped.

Examples:
  pgque consumer move orders billing --to 2h
  pgque consumer move orders billing --to end --yes`,
    )
    .action(async (queue: string, name: string, flags: Flags & ConfirmFlags & { to: Position }) => {
      const { to } = flags;
      const where =
        to instanceof Date
          ? `what was sent from ${to.toISOString()} on`
          : `the ${to === "earliest" ? "start" : "end"} of what is kept`;
      await withPgque(flags, "reader", async ({ consumers }) => {
        const what = async () =>
          `This moves ${nameOf(queue, name)} (${await backlogOf(consumers, queue, name)}) to ${where}; its open batches and retries are dropped.`;
        await confirm(what, flags);
        await consumers.seek(queue, name, to);
      });
      await printResult(flags, { queue, consumer: name, moved: true }, `Moved ${nameOf(queue, name)} to ${where}.`);
    });
}

function remove(): Command {
  return withYes(command("remove").alias("rm"))
    .description("Remove a consumer and its unreceived messages. Other consumers are not affected.")
    .addHelpText(
      "after",
      "\nExamples:\n  pgque consumer remove orders audit\n  pgque consumer remove orders audit --yes",
    )
    .action(async (queue: string, name: string, flags: Flags & ConfirmFlags) => {
      await withPgque(flags, "reader", async (pgque) => {
        await confirm(
          async () => `This removes ${nameOf(queue, name)}: ${await backlogOf(pgque.consumers, queue, name)}.`,
          flags,
        );
        if (!(await pgque.unsubscribe(queue, name))) throw missing(queue, name);
      });
      await printResult(flags, { queue, consumer: name, removed: true }, `Removed ${nameOf(queue, name)}.`);
    });
}

/** What a consumer would leave behind, in words. Asked for with the question alone: to look takes a right that to move or remove does not. */
async function backlogOf(consumers: Consumers, queue: string, name: string): Promise<string> {
  const found = (await consumers.list(queue)).find((one) => one.name === name);
  if (found === undefined) throw missing(queue, name);
  const about = found.estimated ? "about " : "";
  return `${about}${counted(found.depth, "message")} to receive, ${found.inFlight} in flight`;
}

function missing(queue: string, name: string): Error {
  return new Error(
    `expected ${nameOf(queue, name)}, found none. \`pgque consumer list ${shellWord(queue)}\` shows those that are there`,
  );
}
