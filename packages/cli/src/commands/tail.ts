import { setTimeout as pause } from "node:timers/promises";
import { clientCommand, type Flags } from "../command.ts";
import { flag, jsonLines } from "../options.ts";
import { interval } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { printMessages, type ShownMessage } from "../output/message.ts";
import { stopSignal } from "../signals.ts";

interface TailFlags extends Flags {
  follow?: true;
  lines?: number;
  interval?: number;
  type?: string;
}

const most = 1000;

export const tailCommand = clientCommand("tail <queue>", "viewer", {
  description: "Print the last messages of a queue, and new ones as they are sent.",
  help: `
Prints a message a line: time of the send, id, type, payload. Nothing is received, written or locked, and consumers are not
affected. Retries belong to one consumer and are not shown. A delayed message is shown when it is due. With -f Ctrl-C ends it
with exit code 0. After an outage of the database it continues.

Messages that all consumers have settled may be truncated before tail reads them: not within 30 s of the send, unless the queue's
--rotation-min-interval is less.

Examples:
  pgque tail orders
  pgque tail -f orders
  pgque tail -f -n 0 orders --json | jq .payload.orderId`,
  options: [
    flag("-f, --follow", "print new messages as they are sent"),
    flag("-n, --lines <n>", `how many of the last messages, up to ${most} (default: 10)`),
    flag("--type <type>", "only messages of this type"),
    flag("--interval <duration>", "poll interval while nothing is sent (default: 500ms)", { read: interval }),
  ],
  json: jsonLines,
  async run({ messages }, queue: string, flags: TailFlags) {
    const { lines = 10, interval: intervalMs = 500, type } = flags;
    if (lines < 0 || lines > most) throw new UsageError(`expected --lines to be from 0 to ${most}, got: ${lines}`);
    const signal = flags.follow ? stopSignal() : AbortSignal.abort();
    const print = (page: readonly ShownMessage[]): Promise<void> =>
      printMessages(type === undefined ? page : page.filter((message) => message.type === type), flags);
    let { messages: page, position } = await messages.tail(queue, { max: Math.max(1, lines) });
    if (lines > 0) await print(page);
    const outage = new Outage();
    while (!signal.aborted) {
      try {
        ({ messages: page, position } = await messages.tail(queue, { after: position, max: most }));
        outage.over();
      } catch (error) {
        outage.report(error);
        page = [];
      }
      await print(page);
      if (page.length < most) await pause(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  },
});

/** The database is gone and may come back: what was printed last is known, so nothing is missed by it. */
class Outage {
  #isTold = false;

  /** Once for each outage. Throws what no waiting fixes. */
  report(error: unknown): void {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== "CONNECTION_LOST" && code !== "DATABASE_UNREACHABLE") throw error;
    if (!this.#isTold) process.stderr.write(`${message}; will try again\n`);
    this.#isTold = true;
  }

  over(): void {
    if (this.#isTold) process.stderr.write("connected again\n");
    this.#isTold = false;
  }
}
