import { setTimeout as pause } from "node:timers/promises";
import { command, type Flags } from "../command.ts";
import { flag } from "../options.ts";
import { interval } from "../output/duration.ts";
import { explain } from "../output/failure.ts";
import { json } from "../output/json.ts";
import { printLine } from "../output/print.ts";
import { stopSignal } from "../signals.ts";
import { sortKeys } from "../top/columns.ts";
import type { Connection } from "../top/connection.ts";
import type { Snapshot } from "../top/snapshot.ts";

interface TopFlags extends Flags {
  interval: number;
  timeout: number;
  sort: string;
  once?: true;
}

export const topCommand = command("top", {
  description: "Show queues, consumers and the xmin horizon, live.",
  help: `
One line for each consumer of each queue:
  depth         messages that can be received
  sent/s        messages sent to the queue, on average since its current segment began
  received/s    messages that the consumer received, in the last minute
  in flight     messages received and not settled
  lag           age of the oldest message that can be received
  delayed       retries and delayed messages of the queue
  dead letters  of the queue
  size          on disk, without indexes

The line above them names the oldest holder of the xmin horizon. Keys: q quits, r reverses the order, others sort as the last
line shows.

A refresh is one query in a read-only transaction: queue_status, consumer_status (which estimates depths above 10,000, shown
with ≈), and the catalog views of the horizon. The next refresh waits at least as long as the last one took. A refresh that takes
longer than --timeout is cancelled, since it would hold the horizon itself. Top then connects again. It needs the role SCHEMA_viewer.

Without a terminal, or with --once, it prints one snapshot and exits. With --json it prints an object, or without --once a line
at each interval; a failed refresh is reported on standard error. NO_COLOR is respected.

Exit codes: 0 done, stopped or quit; 1 failed; 2 wrong usage.

Examples:
  pgque top
  pgque top --sort lag --interval 5s
  pgque top --once
  pgque top --json --interval 10s | jq -c '.lines[] | select(.lagMs > 60000)'`,
  options: [
    flag("--interval <duration>", "between two looks", { read: interval, default: 2000 }),
    flag("--timeout <duration>", "give up a look after", { read: interval, default: 10_000 }),
    flag("--sort <column>", "sort by it", { choices: Object.keys(sortKeys), default: "depth" }),
    flag("--once", "print one snapshot"),
  ],
  json: "print JSON",
  async run(flags: TopFlags) {
    const { Connection } = await import("../top/connection.ts");
    const sort = sortKeys[flags.sort] ?? "";
    const over = flags.once ? new AbortController().signal : stopSignal();
    const connection = new Connection(flags, flags.timeout, over);
    try {
      if (!flags.once && flags.json) await printLines(connection, flags.interval, over);
      else if (flags.json) await printLine(json(await connection.look(), 0));
      else if (flags.once || !process.stdout.isTTY) await printOnce(connection, sort);
      else await show(connection, sort, flags.interval, over);
    } catch (error) {
      // told to stop while it waited for an answer
      if (!over.aborted) throw error;
    } finally {
      connection.close();
    }
  },
});

async function show(connection: Connection, sort: string, intervalMs: number, over: AbortSignal): Promise<void> {
  const { refresh } = await import("../top/refresh.ts");
  await connection.open();
  const title = `pgque top  ${connection.place}`;
  await refresh({ title, intervalMs, sort, look: () => connection.look() }, over);
}

async function printLines(connection: Connection, intervalMs: number, over: AbortSignal): Promise<void> {
  let snapshot: Snapshot | undefined = await connection.look();
  while (!over.aborted) {
    if (snapshot !== undefined) await printLine(json(snapshot, 0));
    await pause(intervalMs, undefined, { signal: over }).catch(() => undefined);
    if (!over.aborted) snapshot = await retrySnapshot(connection, over);
  }
}

/** As at a terminal: what has worked before is tried again. */
async function retrySnapshot(connection: Connection, over: AbortSignal): Promise<Snapshot | undefined> {
  try {
    return await connection.look();
  } catch (error) {
    if (!over.aborted) process.stderr.write(`no answer, will try again: ${explain(error)}\n`);
    return undefined;
  }
}

async function printOnce(connection: Connection, sort: string): Promise<void> {
  const { render } = await import("../top/view.ts");
  const snapshot = await connection.look();
  const [width, height] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const view = { sort, isReversed: false, width, height, title: connection.place, footer: undefined };
  await printLine(render(snapshot, view).join("\n"));
}
