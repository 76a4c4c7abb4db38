import { replyOptions } from "@pgque/client/options";
import { command } from "../command.ts";
import { withPgque } from "../database.ts";
import { payloadOf } from "../input/json.ts";
import { sendFlags, withExpiry } from "../input/send-flags.ts";
import { OptionFlags } from "../option-flags.ts";
import type { Flags } from "../command.ts";
import { json } from "../output/json.ts";
import { printLine } from "../output/print.ts";

const options = new OptionFlags(replyOptions, sendFlags);

export const callCommand = command("call <queue>", {
  description: "Send a message, wait for its result and print it as JSON.",
  help: `
The result is what the handler of a worker gives to \`done\`; \`null\` when it gives nothing.
Exit code 1: the message is a dead letter, or has no result after --wait. It may still be handled then.

Examples:
  pgque call reports '{"kind": "daily"}' --wait 5s
  pgque call reports '{"kind": "daily"}' | jq .rows`,
  arguments: [["<payload>", "one message, as JSON"]],
  options: options.options(),
  async run(queue: string, text: string, flags: Flags) {
    const payload = payloadOf(text);
    const result = await withPgque(flags, "writer", (pgque) =>
      pgque.call(queue, payload, withExpiry(options.given(flags))),
    );
    await printLine(json(result ?? null));
  },
});
