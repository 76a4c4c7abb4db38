import type { Batch } from "@pgque/client";
import { Command } from "commander";
import { type DatabaseFlags, withDatabase } from "../connection.ts";
import { withPgque } from "../database.ts";
import { given, integer, withJson } from "../options.ts";
import { duration } from "../output/duration.ts";
import { type JsonFlags, printLine } from "../output/print.ts";

interface Flags extends DatabaseFlags, JsonFlags {
  consumer?: string;
  limit?: number;
  lease?: number;
  ack?: true;
}

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
  return withDatabase(
    withJson(new Command("receive"), "print JSON lines for programs: ids are strings, times ISO 8601"),
  )
    .description("Receive messages of a consumer and print them.")
    .argument("<queue>")
    .option("--consumer <name>", "receive as this consumer (default: default)")
    .option("--limit <n>", "the most messages (default: 10)", integer)
    .option("--lease <duration>", "how long they are reserved while they are printed (default: 30s)", duration)
    .option("--ack", "ack them after printing; without: release them")
    .addHelpText("after", more)
    .action(receive);
}

async function receive(queue: string, flags: Flags): Promise<void> {
  const { consumer, limit: max = 10, lease: leaseMs } = flags;
  await withPgque(flags, "reader", async (pgque) => {
    const batch = await pgque.receive(queue, given({ consumer, max, leaseMs }));
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
