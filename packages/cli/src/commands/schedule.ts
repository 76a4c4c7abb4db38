import type { CatchUp, Schedule } from "@pgque/client";
import { scheduleOptions } from "@pgque/client/options";
import { Command, InvalidArgumentError } from "commander";
import { type DatabaseFlags, withDatabase } from "../connection.ts";
import { withPgque } from "../database.ts";
import { headerFlag, payloadOf } from "../input/json.ts";
import { OptionFlags } from "../option-flags.ts";
import { integer, withJson, withYes } from "../options.ts";
import { confirm, type ConfirmFlags } from "../output/confirm.ts";
import { time } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { json } from "../output/json.ts";
import { asFlags } from "../output/flags.ts";
import { type JsonFlags, printChange, printList, printResult } from "../output/print.ts";
import { type ScheduleRecord, scheduleRecord } from "../output/records.ts";
import type { Column } from "../output/table.ts";
import { shortened, showTime } from "../output/text.ts";
import { pauseAndResume } from "./pause-resume.ts";

interface Flags extends DatabaseFlags, JsonFlags {}

const examples = `
A schedule sends its message at the times of a cron expression. The workers of its queue run it, once for each time.

Examples:
  pgque schedule set nightly reports "30 2 * * *" '{"kind": "daily"}' --time-zone Europe/Berlin
  pgque schedule next nightly
  pgque schedule run nightly

pgque schedule COMMAND --help has more for each.`;

/** The `schedule` command. */
export function scheduleCommand(): Command {
  const schedule = new Command("schedule")
    .description("Set, list, run, pause and remove schedules.")
    .addHelpText("after", examples);
  for (const command of [set(), list(), next(), run(), ...pausing(), remove()]) schedule.addCommand(command);
  return schedule;
}

function named(name: string): Command {
  return withDatabase(withJson(new Command(name).argument("<schedule>")));
}

const options = new OptionFlags(scheduleOptions, {
  headers: headerFlag,
  catchUp: {
    flag: "--catch-up <what>",
    help: "times without a running worker: skip, once, or how many of them (default: once)",
    read: readCatchUp,
  },
  // pause and resume
  enabled: null,
});

function set(): Command {
  const command = named("set")
    .argument("<queue>")
    .argument("<cron>", "five fields, six with seconds, or @hourly, @daily, @weekly, @monthly, @yearly")
    .argument("[payload]", "JSON payload of the message", "null");
  return options
    .addTo(command)
    .description("Create or replace a schedule.")
    .addHelpText(
      "after",
      `
Other settings have their defaults. A paused schedule stays paused.

Examples:
  pgque schedule set nightly reports "30 2 * * *" '{"kind": "daily"}' --time-zone Europe/Berlin
  pgque schedule set pulse health "*/10 * * * * *" --catch-up skip`,
    )
    .action(async (name: string, queue: string, cron: string, text: string, flags: Flags) => {
      const payload = payloadOf(text);
      const given = { timeZone: "UTC", ...options.given(flags) };
      await timesOf(cron, given.timeZone ?? "UTC", 1);
      const changed = await withPgque(flags, "admin", ({ schedules }) =>
        schedules.set(name, queue, cron, payload, given),
      );
      await printChange(flags, { schedule: name }, changed, `Set schedule ${JSON.stringify(name)}.`);
    });
}

function readCatchUp(text: string): CatchUp {
  if (text === "skip" || text === "once") return text;
  if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 1440) return { all: Number(text) };
  throw new InvalidArgumentError(`Expected skip, once or a number from 1 to 1440, got: ${JSON.stringify(text)}.`);
}

const columns: Column<ScheduleRecord>[] = [
  { head: "schedule", cell: ({ schedule }) => schedule },
  { head: "queue", cell: ({ queue }) => queue },
  { head: "cron", cell: ({ cron }) => cron },
  { head: "time zone", cell: ({ timeZone }) => timeZone },
  { head: "catch up", cell: (row) => (typeof row.catchUp === "object" ? `last ${row.catchUp.all}` : row.catchUp) },
  { head: "last run", cell: ({ lastRunAt }) => showTime(lastRunAt) },
  { head: "payload", cell: ({ payload }) => shortened(json(payload, 0), 40) },
  { head: "state", cell: ({ paused }) => (paused ? "paused" : "") },
];

function list(): Command {
  return withDatabase(withJson(new Command("list").alias("ls").argument("[queue]", "only of this queue")))
    .description("List the schedules.")
    .addHelpText("after", "\nExamples:\n  pgque schedule list\n  pgque schedule list reports --json | jq '.[].cron'")
    .action(async (queue: string | undefined, flags: Flags) => {
      const found = await withPgque(flags, "viewer", ({ schedules }) => schedules.list(queue));
      await printList(
        flags,
        columns,
        found.map(scheduleRecord),
        "There is no schedule. `pgque schedule set NAME QUEUE CRON` makes one.",
      );
    });
}

interface NextFlags extends Flags {
  count?: number;
}

interface NextRun {
  schedule: string;
  queue: string;
  at: Date;
}

function next(): Command {
  return withDatabase(withJson(new Command("next").argument("[schedule]", "only of this schedule")))
    .description("Show the next runs of schedules that are not paused.")
    .option("--count <n>", "so many times (default: 5)", integer)
    .addHelpText("after", "\nExamples:\n  pgque schedule next\n  pgque schedule next nightly --count 30")
    .action(async (name: string | undefined, flags: NextFlags) => {
      const { count = 5 } = flags;
      const found = await withPgque(flags, "viewer", ({ schedules }) => schedules.list());
      const wanted = name === undefined ? found : [only(found, name)];
      const times: NextRun[] = [];
      for (const { name: schedule, queue, cron, timeZone, enabled } of wanted) {
        if (!enabled) continue;
        for (const at of await timesOf(cron, timeZone, count)) times.push({ schedule, queue, at });
      }
      const runs = times.sort((one, other) => one.at.getTime() - other.at.getTime()).slice(0, count);
      const shown: Column<NextRun>[] = [
        { head: "at", cell: ({ at }) => showTime(at) },
        { head: "schedule", cell: ({ schedule }) => schedule },
        { head: "queue", cell: ({ queue }) => queue },
      ];
      const paused = name !== undefined && wanted.every(({ enabled }) => !enabled);
      await printList(flags, shown, runs, paused ? "It is paused." : "No schedule will run.");
    });
}

/** @throws UsageError when it is no cron expression, no zone or no number of times */
async function timesOf(cron: string, timeZone: string, count: number): Promise<Date[]> {
  const [{ nextRuns }, { isPgqueError }] = await Promise.all([import("@pgque/worker"), import("@pgque/client")]);
  try {
    return nextRuns(cron, { timeZone, count });
  } catch (error) {
    throw isPgqueError(error)
      ? new UsageError((error.details.problems ?? [error.message]).map(asFlags).join("; "))
      : error;
  }
}

function only(found: Schedule[], name: string): Schedule {
  const schedule = found.find((one) => one.name === name);
  if (schedule !== undefined) return schedule;
  throw new Error(
    `expected a schedule ${JSON.stringify(name)}, found none. \`pgque schedule list\` shows those that are there`,
  );
}

interface RunFlags extends Flags {
  at?: Date;
}

function run(): Command {
  return named("run")
    .description("Send the message of a schedule now, or for an earlier time.")
    .option("--at <time>", "the time that it is for, at most a day ago (default: this second)", time)
    .addHelpText(
      "after",
      `
A time runs once, by a worker or by hand: a second run sends nothing, reports that and exits with 0.

Examples:
  pgque schedule run nightly
  pgque schedule run nightly --at 2026-01-31T01:30:00Z`,
    )
    .action(async (name: string, flags: RunFlags) => {
      const at = flags.at ?? new Date(Math.floor(Date.now() / 1000) * 1000);
      const id = await withPgque(flags, "reader", async ({ schedules }) => {
        if (!only(await schedules.list(), name).enabled) {
          throw new Error(
            `expected schedule ${JSON.stringify(name)} to be enabled, it is paused. \`pgque schedule resume\` enables it`,
          );
        }
        return schedules.run(name, at);
      });
      const sentence =
        id === null
          ? `It was run for ${showTime(at)} before: nothing was sent.`
          : `Sent message ${id}, for ${showTime(at)}.`;
      await printResult(flags, { schedule: name, at, messageId: id }, sentence);
    });
}

const pausing = (): Command[] =>
  pauseAndResume("schedules", named, {
    pause: ["Keep a schedule, but do not run it.", "  pgque schedule pause nightly"],
    resume: ["End a pause. The times in between follow --catch-up.", "  pgque schedule resume nightly"],
  });

function remove(): Command {
  return withYes(named("remove").alias("rm"))
    .description("Remove a schedule. Its messages stay.")
    .addHelpText("after", "\nExamples:\n  pgque schedule remove nightly\n  pgque schedule remove nightly --yes")
    .action(async (name: string, flags: Flags & ConfirmFlags) => {
      await withPgque(flags, "admin", async ({ schedules }) => {
        await confirm(async () => {
          const { cron, queue } = only(await schedules.list(), name);
          return `This removes schedule ${JSON.stringify(name)}: ${cron}, to queue ${JSON.stringify(queue)}.`;
        }, flags);
        if (!(await schedules.remove(name))) only([], name);
      });
      await printResult(flags, { schedule: name, removed: true }, `Removed schedule ${JSON.stringify(name)}.`);
    });
}
