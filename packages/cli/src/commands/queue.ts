import { queueOptions } from "@pgque/client/options";
import { Command } from "commander";
import { type DatabaseFlags, withDatabase } from "../connection.ts";
import { withPgque } from "../database.ts";
import { OptionFlags } from "../option-flags.ts";
import { withJson, withYes } from "../options.ts";
import { confirmByName, type ConfirmFlags } from "../output/confirm.ts";
import { showAge } from "../output/duration.ts";
import { showDifferences } from "../output/flags.ts";
import { UsageError } from "../output/failure.ts";
import { type JsonFlags, printChange, printLine, printList, printResult } from "../output/print.ts";
import { type ConsumerRecord, consumerRecord, type QueueRecord, queueRecord } from "../output/records.ts";
import type { Column } from "../output/table.ts";
import { counted, shellWord, showBytes, showEstimate, showTime } from "../output/text.ts";
import { pauseAndResume } from "./pause-resume.ts";

/** A flag for each setting of a queue. */
const settings = new OptionFlags(queueOptions);

interface Flags extends DatabaseFlags, JsonFlags {}

const examples = `
Examples:
  pgque queue create orders --max-retries 10
  pgque queue list
  pgque queue pause orders

pgque queue COMMAND --help has more for each.`;

/** The `queue` command. */
export function queueCommand(): Command {
  const queue = new Command("queue")
    .description("Create, show, change, pause, purge and drop queues.")
    .addHelpText("after", examples);
  for (const command of [create(), list(), show(), set(), ...pausing(), purge(), drop()]) queue.addCommand(command);
  return queue;
}

function create(): Command {
  return withDatabase(
    withJson(settings.addTo(new Command("create").argument("<queue>", "name: any Unicode, at most 57 bytes"))),
  )
    .description("Create a queue. If it exists, it is left as it is, and different settings are reported.")
    .addHelpText(
      "after",
      `
\`pgque queue set\` changes an existing queue.

Examples:
  pgque queue create orders
  pgque queue create mails --priorities 10 --max-retries 3 --retention 2d`,
    )
    .action(async (name: string, flags: Flags) => {
      const { created, differences } = await withPgque(flags, "admin", async (pgque) => {
        const { defineQueue } = await import("@pgque/client");
        return pgque.ensure(defineQueue(name, settings.given(flags)));
      });
      const quoted = JSON.stringify(name);
      await printResult(
        flags,
        { queue: name, created, differences },
        created
          ? `Created queue ${quoted}.`
          : `Queue ${quoted} is there already. Its settings were left as they are${
              differences.length > 0
                ? `: ${showDifferences(differences)}. \`pgque queue set ${shellWord(name)}\` changes them`
                : ""
            }.`,
      );
    });
}

const columns: Column<QueueRecord>[] = [
  { head: "queue", cell: ({ queue }) => queue },
  { head: "consumers", cell: ({ consumerCount }) => consumerCount, align: "right" },
  { head: "sent/s", cell: ({ sentPerSecond }) => sentPerSecond.toFixed(1), align: "right" },
  { head: "delayed", cell: ({ delayed }) => delayed, align: "right" },
  { head: "dead letters", cell: ({ deadLetters }) => deadLetters, align: "right" },
  { head: "on disk", cell: ({ bytes }) => showBytes(bytes), align: "right" },
  { head: "state", cell: ({ paused }) => (paused ? "paused" : "") },
];

function list(): Command {
  return withDatabase(withJson(new Command("list").alias("ls")))
    .description("List the queues.")
    .addHelpText(
      "after",
      `
Examples:
  pgque queue list
  pgque queue list --json | jq -r '.[] | select(.deadLetters > 0) | .queue'`,
    )
    .action(async (flags: Flags) => {
      const queues = await withPgque(flags, "viewer", (pgque) => pgque.queues.list());
      await printList(
        flags,
        columns,
        queues.map(queueRecord),
        "There is no queue. `pgque queue create NAME` makes one.",
      );
    });
}

const consumerColumns: Column<ConsumerRecord>[] = [
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "to receive", cell: ({ depth, estimated }) => showEstimate(depth, estimated), align: "right" },
  { head: "in flight", cell: ({ inFlight, estimated }) => showEstimate(inFlight, estimated), align: "right" },
  { head: "lag", cell: ({ lagMs }) => showAge(lagMs), align: "right" },
  { head: "state", cell: ({ paused }) => (paused ? "paused" : "") },
];

function show(): Command {
  return named("show")
    .description("Show one queue: its state, settings, consumers, and the segments that cannot be truncated.")
    .addHelpText(
      "after",
      `
Examples:
  pgque queue show orders
  pgque queue show orders --json | jq .settings.maxRetries`,
    )
    .action(async (name: string, flags: Flags) => {
      const found = await withPgque(flags, "viewer", async ({ queues, consumers }) => ({
        ...queueRecord(await queues.status(name)),
        settings: await queues.settings(name),
        consumers: (await consumers.list(name)).map(consumerRecord),
        segments: await queues.segments(name),
      }));
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
        "on disk": `${showBytes(bytes)} in ${counted(segments.length, "segment")}, the current one since ${showTime(rotatedAt)}`,
        ...Object.fromEntries(kept.map(({ segment, waitsFor }) => [`segment ${segment} waits`, waitsFor?.join("; ")])),
      };
      const readers =
        found.consumers.length === 0
          ? `No consumer. \`pgque consumer add ${shellWord(name)} NAME\` makes one.`
          : table(consumerColumns, found.consumers);
      await printLine([facts(state), facts(settings.show(found.settings)), readers].join("\n\n"));
    });
}

function set(): Command {
  return withDatabase(withJson(settings.addTo(new Command("set").argument("<queue>"), { changing: true })))
    .description("Change settings of a queue: all of them, or none when one is invalid.")
    .addHelpText(
      "after",
      `
The value \`default\` resets a setting. --partitions and --priorities can be raised, not set or lowered. --allow-expiry cannot be
switched off.

Examples:
  pgque queue set orders --max-retries 10 --retention 1d
  pgque queue set orders --max-lag default`,
    )
    .action(async (name: string, flags: Flags) => {
      const changes = settings.changes(flags);
      if (Object.keys(changes).length === 0) {
        throw new UsageError("expected a setting to change, got none. `pgque queue set --help` lists them");
      }
      const changed = await withPgque(flags, "admin", ({ queues }) => queues.change(name, changes));
      await printChange(flags, { queue: name }, changed, `Changed queue ${JSON.stringify(name)}.`);
    });
}

const named = (name: string): Command => withDatabase(withJson(new Command(name).argument("<queue>")));

const pausing = (): Command[] =>
  pauseAndResume("queues", named, {
    pause: [
      "Let no consumer receive from a queue. What is in flight can be settled, and sends go on.",
      "  pgque queue pause orders\n  pgque consumer pause orders billing   only one of its consumers",
    ],
    resume: ["End a pause, and wake idle workers.", "  pgque queue resume orders"],
  });

interface PurgeFlags extends Flags, ConfirmFlags {
  consumer?: string;
}

function purge(): Command {
  return withYes(named("purge"))
    .option("--consumer <name>", "only the messages that this consumer has not received; other consumers keep them")
    .description("Delete all messages that are not settled, delayed ones included. Dead letters stay.")
    .addHelpText(
      "after",
      `
Asks for the name of the queue to be typed.

Examples:
  pgque queue purge orders
  pgque queue purge orders --consumer billing --yes`,
    )
    .action(async (name: string, flags: PurgeFlags) => {
      const { consumer } = flags;
      const purged = await withPgque(flags, "admin", async ({ queues, consumers }) => {
        await queues.status(name);
        const whose = consumer === undefined ? "" : ` for consumer ${JSON.stringify(consumer)}`;
        await confirmByName(`This throws away what waits in queue ${JSON.stringify(name)}${whose}.`, name, flags);
        return consumer === undefined ? queues.purge(name) : consumers.purge(name, consumer);
      });
      await printResult(flags, { queue: name, purged }, `Threw away ${counted(purged, "message")}.`);
    });
}

interface DropFlags extends Flags, ConfirmFlags {
  force?: true;
}

function drop(): Command {
  return withYes(named("drop"))
    .option("--force", "also when consumers are subscribed")
    .description("Drop a queue, its messages, its dead letters and its schedules.")
    .addHelpText(
      "after",
      `
Asks for the name of the queue to be typed.

Examples:
  pgque queue drop outdated
  pgque queue drop outdated --force --yes`,
    )
    .action(async (name: string, flags: DropFlags) => {
      await withPgque(flags, "admin", async ({ queues }) => {
        const { consumers, bytes, deadLetters } = await queues.status(name);
        const what = [
          counted(consumers, "consumer"),
          counted(deadLetters, "dead letter"),
          `${showBytes(bytes)} of messages`,
        ];
        await confirmByName(`This drops queue ${JSON.stringify(name)}: ${what.join(", ")}.`, name, flags);
        await queues.drop(name, { force: flags.force ?? false });
      });
      await printResult(flags, { queue: name, dropped: true }, `Dropped queue ${JSON.stringify(name)}.`);
    });
}
