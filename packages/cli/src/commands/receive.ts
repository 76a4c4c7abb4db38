import type { Batch } from "@pgque/client";
import { receiveOptions } from "@pgque/client/options";
import { Command } from "commander";
import { type DatabaseFlags, withDatabase } from "../connection.ts";
import { withPgque } from "../database.ts";
import { OptionFlags } from "../option-flags.ts";
import { jsonLines, withJson } from "../options.ts";
import { type JsonFlags, printLine } from "../output/print.ts";

interface Flags extends DatabaseFlags, JsonFlags {
  ack?: true;
}

const options = new OptionFlags(receiveOptions, {
  max: { flag: "--limit <n>", default: 10 },
  // for workers
  worker: null,
  tellsBegun: null,
});

const more = `
Prints a message a line: time of the send, id, type, payload. With --ack the messages are acked after they are printed. Without
it they are released without using an attempt, and the next receive gets them again. \`pgque peek\` shows messages without
receiving them.

Examples:
  pgque receive orders
  pgque receive orders --consumer billing --limit 1 --ack
  pgque receive orders --limit 1000 --ack --json >> orders.jsonl   one JSON object a line`;

/** The `receive` command. */
export function receiveCommand(): Command {
  const command = new Command("receive").argument("<queue>");
  return withDatabase(withJson(options.addTo(command), jsonLines))
    .description("Receive messages of a consumer and print them.")
    .option("--ack", "ack them after printing; without: release them")
    .addHelpText("after", more)
    .action(receive);
}

async function receive(queue: string, flags: Flags): Promise<void> {
  await withPgque(flags, "reader", async (pgque) => {
    const batch = await pgque.receive(queue, { max: 10, ...options.given(flags) });
    try {
      if (batch.open.length === 0 && !flags.json) return await printLine("There is nothing to receive.");
      await print(batch, flags);
      if (flags.ack) await ack(batch);
    } finally {
      // all of them: release() counts an attempt of what is not JSON, which was only looked at
      if (batch.open.length > 0) await batch.settle({ release: batch.open });
    }
  });
}

/** Done when all of it has been taken: what nobody has read must not be acked. */
async function print(batch: Batch, flags: Flags): Promise<void> {
  const [{ json }, { messageLine }] = await Promise.all([import("../output/json.ts"), import("../output/message.ts")]);
  const all = [...batch.messages, ...batch.invalid.map(({ message }) => message)];
  for (const message of all) await printLine(flags.json ? json(message, 0) : messageLine(message));
}

async function ack(batch: Batch): Promise<void> {
  if (batch.open.length === 0 || (await batch.ack(batch.open))) return;
  throw new Error(
    "the lease ended before all was printed: the messages were not acked and will come again. Take fewer (--limit) or a longer lease (--lease)",
  );
}
