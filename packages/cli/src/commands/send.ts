import type { SendManyOptions, SendOptions, Sent } from "@pgque/client";
import { sendOptions } from "@pgque/client/options";
import { command } from "../command.ts";
import { withPgque } from "../database.ts";
import { payloadOf } from "../input/json.ts";
import { sendFlags, withExpiry } from "../input/send-flags.ts";
import type { InputFlags } from "../input/send-input.ts";
import { OptionFlags } from "../option-flags.ts";
import { flag } from "../options.ts";
import { UsageError } from "../output/failure.ts";
import { printResult } from "../output/print.ts";

const options = new OptionFlags(sendOptions, sendFlags);

export const sendCommand = command("send <queue>", {
  description: "Send a message, or many from a file or standard input.",
  help: `
A payload is JSON. Standard input and files have one message a line. They are sent as they are read, in statements of up to
1000 messages, each of which is stored completely or not at all. Blank lines are skipped.

When a line is invalid, or the database fails, the error says how many messages were sent and the line to continue with:
--from-line. So does Ctrl-C, with exit code 130.

Examples:
  pgque send orders '{"orderId": 42}'
  pgque send orders '{"orderId": 43}' --delay 5m --dedupe-key order-43 --header tenant=acme
  pgque send orders --file orders.jsonl
  jq -c '.orders[]' export.json | pgque send orders --type imported
  pgque send orders --file orders.jsonl --from-line 2001   continue after a failure`,
  arguments: [["[payload]", "one message, as JSON; without: JSON lines"]],
  options: [
    flag("--file <file>", "JSON lines, one message each; - is standard input"),
    flag("--from-line <n>", "first line of the input to send (default: 1)"),
    ...options.options(),
  ],
  run: (queue: string, payload: string | undefined, flags: InputFlags) =>
    payload === undefined ? sendLines(queue, flags) : sendOne(queue, payload, flags),
});

async function sendOne(queue: string, text: string, flags: InputFlags): Promise<void> {
  if (flags.file !== undefined) throw new UsageError("expected a payload or --file, got both");
  if (flags.fromLine !== undefined)
    throw new UsageError("expected --from-line with lines to send, got a payload as argument");
  const payload = payloadOf(text);
  const sent = await withPgque(flags, "writer", (pgque) => pgque.send(queue, payload, givenOptions(flags)));
  await printResult(flags, { queue, ...sent }, answer(sent));
}

function answer({ id, deduplicated, replaced }: Sent): string {
  if (replaced !== undefined)
    return deduplicated
      ? `Postponed message ${replaced}, now message ${id}.`
      : `Sent message ${id} in place of ${replaced}.`;
  return deduplicated ? `Already sent as message ${id}.` : `Sent message ${id}.`;
}

async function sendLines(queue: string, flags: InputFlags): Promise<void> {
  const { dedupeKey, dedupeTtlMs, ifWaiting, ...common } = givenOptions(flags);
  if (dedupeKey !== undefined || dedupeTtlMs !== undefined || ifWaiting !== undefined) {
    throw new UsageError("expected a payload as argument with --dedupe-key, got lines, which would all be one message");
  }
  const { sendInput } = await import("../input/send-input.ts");
  await sendInput(queue, flags, common satisfies SendManyOptions);
}

function givenOptions(flags: InputFlags): SendOptions {
  return withExpiry(options.given(flags));
}
