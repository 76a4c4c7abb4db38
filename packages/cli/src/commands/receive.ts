import type { Batch } from "@pgque/client";
import { receiveOptions } from "@pgque/client/options";
import { clientCommand, type Flags } from "../command.ts";
import { OptionFlags } from "../option-flags.ts";
import { flag, jsonLines } from "../options.ts";
import { printMessages } from "../output/message.ts";
import { printLine } from "../output/print.ts";

const options = new OptionFlags(receiveOptions, {
  max: { flag: "--limit <n>", default: 10 },
  // for workers
  worker: null,
  reportsStarted: null,
});

export const receiveCommand = clientCommand("receive <queue>", "reader", {
  description: "Receive messages of a consumer and print them.",
  help: `
Prints a message a line: time of the send, id, type, payload. With --ack the messages are acked after they are printed. Without
it they are released without using an attempt, and the next receive gets them again. \`pgque peek\` shows messages without
receiving them.

Examples:
  pgque receive orders
  pgque receive orders --consumer billing --limit 1 --ack
  pgque receive orders --limit 1000 --ack --json >> orders.jsonl   one JSON object a line`,
  options: [...options.options(), flag("--ack", "ack them after printing; without: release them")],
  json: jsonLines,
  async run(pgque, queue: string, flags: Flags & { ack?: true }) {
    const batch = await pgque.receive(queue, { max: 10, ...options.given(flags) });
    try {
      if (batch.open.length === 0 && !flags.json) return await printLine("There is nothing to receive.");
      await printMessages([...batch.messages, ...batch.invalid.map(({ message }) => message)], flags);
      if (flags.ack) await ack(batch);
    } finally {
      // all of them: release() counts an attempt of what is not JSON, which was only looked at
      if (batch.open.length > 0) await batch.settle({ release: batch.open });
    }
  },
});

async function ack(batch: Batch): Promise<void> {
  if (batch.open.length === 0 || (await batch.ack(batch.open))) return;
  throw new Error(
    "the lease ended before all was printed: the messages were not acked and will come again. Take fewer (--limit) or a longer lease (--lease)",
  );
}
