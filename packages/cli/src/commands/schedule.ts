import type { CatchUp, Schedule } from "@pgque/client";
import { scheduleOptions } from "@pgque/client/options";
import { InvalidArgumentError } from "commander";
import { clientCommand, commandGroup, type Flags } from "../command.ts";
import { headerFlag, payloadOf } from "../input/json.ts";
import { OptionFlags } from "../option-flags.ts";
import { flag } from "../options.ts";
import { confirm } from "../output/confirm.ts";
import { time } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { json } from "../output/json.ts";
import { asFlags } from "../output/flags.ts";
import { printChange, printList, printResult } from "../output/print.ts";
import { pausedColumn, type ScheduleRecord, scheduleRecord } from "../output/records.ts";
import type { Column } from "../output/table.ts";
import { shortened, showTime } from "../output/text.ts";
import { pauseAndResume } from "./pause-resume.ts";

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

const set = clientCommand("set <schedule> <queue>", "admin", {
  description: "Create or replace a schedule.",
  help: `
Other settings have their defaults. A paused schedule stays paused.

Examples:
  pgque schedule set nightly reports "30 2 * * *" '{"kind": "daily"}' --time-zone Europe/Berlin
  pgque schedule set pulse health "*/10 * * * * *" --catch-up skip`,
  arguments: [
    ["<cron>", "five fields, six with seconds, or @hourly, @daily, @weekly, @monthly, @yearly"],
    ["[payload]", "JSON payload of the message", "null"],
  ],
  options: options.options(),
  async run({ schedules }, schedule: string, queue: string, cron: string, text: string, flags: Flags) {
    const payload = payloadOf(text);
    const given = { timeZone: "UTC", ...options.given(flags) };
    await timesOf(cron, given.timeZone ?? "UTC", 1);
    const changed = await schedules.set(schedule, queue, cron, payload, given);
    await printChange(flags, { schedule }, changed, `Set schedule ${JSON.stringify(schedule)}.`);
  },
});

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
  pausedColumn,
];

const list = clientCommand("list", "viewer", {
  alias: "ls",
  description: "List the schedules.",
  help: `
Examples:
  pgque schedule list
  pgque schedule list reports --json | jq '.[].cron'`,
  arguments: [["[queue]", "only of this queue"]],
  run: async ({ schedules }, queue: string | undefined, flags: Flags) =>
    printList(
      flags,
      columns,
      (await schedules.list(queue)).map(scheduleRecord),
      "There is no schedule. `pgque schedule set NAME QUEUE CRON` makes one.",
    ),
});

interface NextRun {
  schedule: string;
  queue: string;
  at: Date;
}

const runColumns: Column<NextRun>[] = [
  { head: "at", cell: ({ at }) => showTime(at) },
  { head: "schedule", cell: ({ schedule }) => schedule },
  { head: "queue", cell: ({ queue }) => queue },
];

const next = clientCommand("next", "viewer", {
  description: "Show the next runs of schedules that are not paused.",
  help: `
Examples:
  pgque schedule next
  pgque schedule next nightly --count 30`,
  arguments: [["[schedule]", "only of this schedule"]],
  options: [flag("--count <n>", "so many times (default: 5)")],
  async run({ schedules }, name: string | undefined, flags: Flags & { count?: number }) {
    const { count = 5 } = flags;
    const found = await schedules.list();
    const wanted = name === undefined ? found : [only(found, name)];
    const enabled = wanted.filter((one) => one.enabled);
    const times = enabled.map(async ({ name: schedule, queue, cron, timeZone }): Promise<NextRun[]> =>
      (await timesOf(cron, timeZone, count)).map((at) => ({ schedule, queue, at })),
    );
    const runs = (await Promise.all(times)).flat().sort((one, other) => one.at.getTime() - other.at.getTime());
    const isPaused = name !== undefined && enabled.length === 0;
    await printList(flags, runColumns, runs.slice(0, count), isPaused ? "It is paused." : "No schedule will run.");
  },
});

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

const run = clientCommand("run <schedule>", "reader", {
  description: "Send the message of a schedule now, or for an earlier time.",
  help: `
A time runs once, by a worker or by hand: a second run sends nothing, reports that and exits with 0.

Examples:
  pgque schedule run nightly
  pgque schedule run nightly --at 2026-01-31T01:30:00Z`,
  options: [flag("--at <time>", "the time that it is for, at most a day ago (default: this second)", { read: time })],
  async run({ schedules }, schedule: string, flags: Flags & { at?: Date }) {
    const at = flags.at ?? new Date(Math.floor(Date.now() / 1000) * 1000);
    if (!only(await schedules.list(), schedule).enabled) {
      throw new Error(
        `expected schedule ${JSON.stringify(schedule)} to be enabled, it is paused. \`pgque schedule resume\` enables it`,
      );
    }
    const messageId = await schedules.run(schedule, at);
    const sentence =
      messageId === null
        ? `It was run for ${showTime(at)} before: nothing was sent.`
        : `Sent message ${messageId}, for ${showTime(at)}.`;
    await printResult(flags, { schedule, at, messageId }, sentence);
  },
});

const pausing = pauseAndResume("schedules", "<schedule>", {
  pause: ["Keep a schedule, but do not run it.", "  pgque schedule pause nightly"],
  resume: ["End a pause. The times in between follow --catch-up.", "  pgque schedule resume nightly"],
});

const remove = clientCommand("remove <schedule>", "admin", {
  alias: "rm",
  description: "Remove a schedule. Its messages stay.",
  help: `
Examples:
  pgque schedule remove nightly
  pgque schedule remove nightly --yes`,
  yes: true,
  async run({ schedules }, schedule: string, flags: Flags) {
    const quoted = JSON.stringify(schedule);
    await confirm(async () => {
      const { cron, queue } = only(await schedules.list(), schedule);
      return `This removes schedule ${quoted}: ${cron}, to queue ${JSON.stringify(queue)}.`;
    }, flags);
    if (!(await schedules.remove(schedule))) only([], schedule);
    await printResult(flags, { schedule, removed: true }, `Removed schedule ${quoted}.`);
  },
});

export const scheduleCommand = commandGroup(
  "schedule",
  "Set, list, run, pause and remove schedules.",
  `
A schedule sends its message at the times of a cron expression. The workers of its queue run it, once for each time.

Examples:
  pgque schedule set nightly reports "30 2 * * *" '{"kind": "daily"}' --time-zone Europe/Berlin
  pgque schedule next nightly
  pgque schedule run nightly`,
  [set, list, next, run, ...pausing, remove],
);
