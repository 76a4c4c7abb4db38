import type { DeadLetter, DeadLetterFilter, Pgque } from "@pgque/client";
import { deadLetterOptions } from "@pgque/client/options";
import { sanitizeLines } from "@pgque/client/redact";
import { clientCommand, commandGroup, type Flags } from "../command.ts";
import { OptionFlags } from "../option-flags.ts";
import { flag, given, id, idMax, ids } from "../options.ts";
import { confirm } from "../output/confirm.ts";
import { timeOrAge } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { json } from "../output/json.ts";
import { printLine, printList, printResult } from "../output/print.ts";
import { progressBar } from "../output/progress.ts";
import type { Column } from "../output/table.ts";
import { counted, firstLine, shellWord, shortened, showTime } from "../output/text.ts";
import { Stopped, stoppedBy, stopSignal } from "../signals.ts";

/** Which dead letters are meant. */
const filter = new OptionFlags(deadLetterOptions, {
  reasonLike: { flag: "--reason <text>", help: "with this in their reason", read: (text) => text },
  diedBefore: {
    flag: "--older-than <when>",
    help: "that died before: 30d, 2026-01-31T12:00:00Z",
    read: (text) => timeOrAge(text),
  },
  diedAfter: {
    flag: "--newer-than <when>",
    help: "that died since: 2h, 2026-01-31T12:00:00Z",
    read: (text) => timeOrAge(text),
  },
});

interface ScopeFlags extends Flags {
  id?: string[];
  all?: true;
}

const scopeOptions = [
  ...filter.options(),
  flag("--id <ids>", "these, as `list` shows them: 17,18; may be repeated", { read: ids }),
  flag("--all", "all of the queue"),
];

function filterOf(flags: Flags): DeadLetterFilter {
  const { reasonLike: reason, ...others } = filter.given(flags);
  // `%`, `_` and `\\` in what somebody looks for mean themselves
  return reason === undefined
    ? others
    : { ...others, reasonLike: `%${reason.replaceAll(/[\\%_]/g, String.raw`\$&`)}%` };
}

const columns: Column<DeadLetter>[] = [
  { head: "id", cell: (letter) => letter.id, align: "right" },
  { head: "died", cell: ({ diedAt }) => showTime(diedAt) },
  { head: "consumer", cell: ({ consumer }) => consumer },
  { head: "attempt", cell: ({ attempt }) => attempt, align: "right" },
  { head: "type", cell: ({ type }) => type },
  { head: "reason", cell: ({ reason }) => reason && shortened(firstLine(reason), 40) },
  { head: "payload", cell: ({ payload }) => shortened(json(payload, 0), 40) },
];

const list = clientCommand("list <queue>", "viewer", {
  alias: "ls",
  description: "List dead letters, the newest first.",
  help: `
Examples:
  pgque dlq list orders --consumer billing --newer-than 1h
  pgque dlq list orders --reason "gateway timeout" --limit 100
  pgque dlq list orders --json | jq '.[] | {id, reason, payload}'`,
  options: [
    ...filter.options(),
    flag("--limit <n>", "at most so many, up to 1000 (default: 20)"),
    flag("--after <id>", "go on behind this one, the last of the page before", { read: id }),
  ],
  async run({ deadLetters }, queue: string, flags: Flags & { limit?: number; after?: string }) {
    const { limit: max = 20, after: beforeId } = flags;
    const letters = await deadLetters.list(queue, { ...filterOf(flags), ...given({ max, beforeId }) });
    const empty = beforeId === undefined ? "There is no dead letter." : "There is no further dead letter.";
    await printList(flags, columns, letters, empty);
    const last = letters.at(-1);
    if (!flags.json && last !== undefined && letters.length === max)
      await printLine(`\nThere may be more: add --after ${last.id}`);
  },
});

const show = clientCommand("show <queue>", "viewer", {
  description: "Show one dead letter with all of its payload and its reason.",
  help: `
Examples:
  pgque dlq show orders 17
  pgque dlq show orders 17 --json | jq .payload`,
  arguments: [["<id>", "as `list` shows it", id]],
  async run({ deadLetters }, queue: string, wanted: string, flags: Flags) {
    const [letter] = await deadLetters.list(queue, { ...given({ beforeId: following(wanted) }), max: 1 });
    if (letter?.id !== wanted) {
      throw new Error(
        `expected a dead letter ${wanted} of queue ${JSON.stringify(queue)}, found none. \`pgque dlq list ${shellWord(queue)}\` shows those that are there`,
      );
    }
    if (flags.json) return printLine(json(letter));
    const { facts } = await import("../output/table.ts");
    const { payload, headers, createdAt, diedAt, messageId: message, reason, ...rest } = letter;
    const known = {
      ...rest,
      reason: reason && firstLine(reason),
      message,
      sent: showTime(createdAt),
      died: showTime(diedAt),
      headers: json(headers, 0),
    };
    const stack = reason?.includes("\n") ? [sanitizeLines(reason.replaceAll("\r\n", "\n"))] : [];
    await printLine([facts(known), ...stack, json(payload)].join("\n\n"));
  },
});

/** The id after this one; undefined when there is none. */
function following(id: string): string | undefined {
  return BigInt(id) < idMax ? String(BigInt(id) + 1n) : undefined;
}

/** What is done to dead letters, `step` in one transaction. */
const actions = {
  redrive: { step: 1000, member: "redriven", done: "sent again", sentence: (count: string) => `Sent ${count} again.` },
  purge: { step: 10_000, member: "purged", done: "thrown away", sentence: (count: string) => `Threw away ${count}.` },
};

type Action = keyof typeof actions;

const redrive = clientCommand("redrive <queue>", "admin", {
  description: "Send dead letters again, each to its consumer, from the first attempt.",
  help: `
Selects the dead letters that match all options, or --all. Runs in transactions of ${actions.redrive.step}. After a failure or a Ctrl-C (exit code
130) the completed transactions stay, and the error says how many were sent. New dead letters are left alone while it runs, and
so are those of removed consumers. Exit code 1: an --id is of none.

Examples:
  pgque dlq redrive orders --id 17,18
  pgque dlq redrive orders --consumer billing --reason timeout --limit 100
  pgque dlq redrive orders --all`,
  options: [...scopeOptions, flag("--limit <n>", "at most so many, the oldest first")],
  async run(pgque, queue: string, flags: ScopeFlags & { limit?: number }) {
    const { limit } = flags;
    checkScope(flags, "redrive");
    if (limit !== undefined && limit < 1) throw new UsageError(`expected --limit to be 1 or more, got: ${limit}`);
    await inBatches(pgque, queue, "redrive", flags, limit);
  },
});

const purge = clientCommand("purge <queue>", "admin", {
  description: "Delete the dead letters that match all options, or --all.",
  help: `
Runs in transactions of ${actions.purge.step}. After a failure or a Ctrl-C (exit code 130) the completed transactions stay, and the error says
how many were deleted. Exit code 1: an --id is of none.

Examples:
  pgque dlq purge orders --older-than 30d
  pgque dlq purge orders --id 17 --yes`,
  options: scopeOptions,
  yes: true,
  async run(pgque, queue: string, flags: ScopeFlags) {
    checkScope(flags, "purge");
    await confirm(async () => {
      const { deadLetters } = await pgque.queues.status(queue);
      const which = flags.all ? "all" : "those that fit";
      return `This throws away ${which} of the ${counted(deadLetters, "dead letter")} of queue ${JSON.stringify(queue)}.`;
    }, flags);
    await inBatches(pgque, queue, "purge", flags);
  },
});

function checkScope(flags: ScopeFlags, command: Action): void {
  const named = flags.id !== undefined || Object.keys(filterOf(flags)).length > 0;
  if (named !== (flags.all ?? false)) return;
  throw new UsageError(
    `expected options that say which dead letters, or --all, got ${named ? "both" : "neither"}. \`pgque dlq ${command} --help\` lists them`,
  );
}

/**
 * Does it in steps, the oldest first, each a transaction of its own, until none is left, and prints how many it were. A signal takes back the
 * step under way.
 *
 * @throws Stopped, or Error, which say how many it were before
 */
async function inBatches(
  pgque: Pgque,
  queue: string,
  action: Action,
  flags: ScopeFlags,
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { step, member, done: what, sentence } = actions[action];
  const { deadLetters } = await pgque.queues.status(queue);
  const named = { ...filterOf(flags), ...given({ ids: flags.id }) };
  // without an end, what dies while it runs would be taken as well, and what dies again again and again
  const filter = { ...named, diedBefore: named.diedBefore ?? (await databaseTime(pgque)) };
  const signal = stopSignal();
  const bar = await progressBar(Math.min(limit, flags.id?.length ?? deadLetters, deadLetters), "dead letters");
  let done = 0;
  try {
    for (;;) {
      const max = Math.min(step, limit - done);
      const count = max > 0 ? await pgque.deadLetters[action](queue, { ...filter, max, signal }) : 0;
      done += count;
      bar.update(done);
      // there are no more
      if (count < max || max <= 0) break;
      signal.throwIfAborted();
    }
  } catch (error) {
    bar.stop();
    const stopped = stoppedBy(error);
    if (done === 0 && stopped === undefined) throw error;
    if (flags.json) await printResult(flags, { queue, [member]: done }, "");
    const isUnknown = (error as { code?: unknown }).code === "CONNECTION_LOST";
    const others = isUnknown ? `whether the next ${step} were is not known` : "the others are as they were";
    const message = `${counted(done, "dead letter")} ${done === 1 ? "was" : "were"} ${what}, ${others}. The same command goes on`;
    throw stopped ? new Stopped(`stopped by ${stopped}: ${message}`, stopped) : new Error(message, { cause: error });
  } finally {
    bar.stop();
  }
  await printResult(flags, { queue, [member]: done }, sentence(counted(done, "dead letter")));
  const missing = new Set(flags.id).size - done;
  if (limit !== Number.POSITIVE_INFINITY || missing <= 0) return;
  const those = missing === 1 ? "one of the ids" : `${missing} of the ids`;
  throw new Error(
    `expected ${those} to be of a dead letter that fits, found none. \`pgque dlq list ${shellWord(queue)}\` shows those that are there`,
  );
}

/** The next millisecond by the clock that says when a message died, which need not be that of this machine. */
async function databaseTime({ pool }: Pgque): Promise<Date> {
  const { rows } = await pool.query<{ ms: string }>(
    "select (ceil(extract(epoch from clock_timestamp()) * 1000))::text as ms",
  );
  return new Date(Number(rows[0]?.ms));
}

export const dlqCommand = commandGroup(
  "dlq",
  "List dead letters, send them again, delete them.",
  `
A dead letter is a message whose attempts were used up, or that was buried. A message has one dead letter for each consumer that
could not handle it.

Examples:
  pgque dlq list orders
  pgque dlq redrive orders --reason timeout
  pgque dlq purge orders --older-than 30d`,
  [list, show, redrive, purge],
);
