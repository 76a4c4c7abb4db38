import type { SendManyOptions, SendOptions } from "@pgque/client";
import { Command, InvalidArgumentError } from "commander";
import { withDatabase } from "../connection.ts";
import { withPgque } from "../database.ts";
import { parseJson } from "../input/json.ts";
import type { InputFlags } from "../input/send-input.ts";
import { given, integer, withJson } from "../options.ts";
import { duration, time } from "../output/duration.ts";
import { UsageError } from "../output/failure.ts";
import { printResult } from "../output/print.ts";

interface Flags extends InputFlags {
  type?: string;
  priority?: number;
  key?: string;
  delay?: number;
  at?: Date;
  dedupeKey?: string;
  dedupeTtl?: number;
  header?: Record<string, unknown>;
  expires?: number | Date;
}

const more = `
A payload is JSON. Many are sent as JSON lines, one message a line, from a file or from standard input, as they come: in
statements of up to a thousand, each of which is there or not as a whole. When one line is wrong, or the database fails, it says
how many were sent and where to go on: --from-line. So it does on Ctrl-C, with exit code 130. Blank lines are passed over.

Examples:
  pgque send orders '{"orderId": 42}'
  pgque send orders '{"orderId": 43}' --delay 5m --dedupe-key order-43 --header tenant=acme
  pgque send orders --file orders.jsonl
  jq -c '.orders[]' export.json | pgque send orders --type imported
  pgque send orders --file orders.jsonl --from-line 2001   go on where it stopped`;

/** The `send` command. */
export function sendCommand(): Command {
  return withDatabase(
    withJson(new Command("send"))
      .description("Send a message, or many from a file or standard input.")
      .argument("<queue>")
      .argument("[payload]", "one message, as JSON; without: JSON lines")
      .option("--file <file>", "JSON lines, one message each; - is standard input")
      .option("--from-line <n>", "begin with this line of the input (default: 1)", integer)
      .option("--type <type>", "what kind of message it is (default: default)")
      .option("--priority <n>", "higher ones are received first, on a queue with --priorities", integer)
      .option("--key <key>", "messages of one key in order, on a queue with --partitions")
      .option("--delay <duration>", "deliver it after this time: 30s, 5m, 2h, 1d", duration)
      .option("--at <time>", "deliver it at this time: 2026-01-31T12:00:00Z", time)
      .option(
        "--dedupe-key <key>",
        "of the messages with one key the first is sent, the others are answered with its id",
      )
      .option("--dedupe-ttl <duration>", "how long that key counts (default: 1d)", duration)
      .option(
        "--header <name=value>",
        "travels beside the payload; a value that is JSON is sent as such. May be repeated",
        header,
      )
      .option("--expires <when>", "do not deliver it after this time: 2h, 2026-01-31T12:00:00Z", durationOrTime),
  )
    .addHelpText("after", more)
    .action((queue: string, payload: string | undefined, flags: Flags) =>
      payload === undefined ? sendLines(queue, flags) : sendOne(queue, payload, flags),
    );
}

async function sendOne(queue: string, text: string, flags: Flags): Promise<void> {
  if (flags.file !== undefined) throw new UsageError("expected a payload or --file, got both");
  if (flags.fromLine !== undefined)
    throw new UsageError("expected --from-line with lines to send, got a payload as argument");
  const payload = payloadOf(text);
  const options: SendOptions = {
    ...commonOptions(flags),
    ...given({ dedupeKey: flags.dedupeKey, dedupeTtlMs: flags.dedupeTtl }),
  };
  const id = await withPgque(flags, "writer", (pgque) => pgque.send(queue, payload, options));
  await printResult(flags, { queue, id }, `Sent message ${id}.`);
}

async function sendLines(queue: string, flags: Flags): Promise<void> {
  if (flags.dedupeKey !== undefined || flags.dedupeTtl !== undefined) {
    throw new UsageError("expected a payload as argument with --dedupe-key, got lines, which would all be one message");
  }
  const { sendInput } = await import("../input/send-input.ts");
  await sendInput(queue, flags, commonOptions(flags));
}

function payloadOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const hint = `A string needs its quotes in JSON: '${JSON.stringify(text.slice(0, 40))}'`;
    throw new UsageError(`expected a payload in JSON, got: ${(error as Error).message}. ${hint}`);
  }
}

function commonOptions(flags: Flags): Omit<SendManyOptions, "keys" | "dedupeKeys" | "dedupeTtlMs"> {
  const { type, priority, key, delay: delayMs, at, header: headers, expires } = flags;
  const expiresAt = expires instanceof Date ? expires : undefined;
  const ttlMs = typeof expires === "number" ? expires : undefined;
  return given({ type, priority, key, delayMs, at, headers, expiresAt, ttlMs });
}

function durationOrTime(text: string): number | Date {
  return /^\d{4}-/.test(text) ? time(text) : duration(text);
}

/** Adds a header to those that were given before. */
function header(text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
  const split = text.indexOf("=");
  if (split < 1) throw new InvalidArgumentError(`Expected name=value, got: ${JSON.stringify(text)}.`);
  const value = text.slice(split + 1);
  // own properties alone: `__proto__` is a name like any other
  return Object.fromEntries([...Object.entries(before), [text.slice(0, split), jsonOrText(value)]]);
}

function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
