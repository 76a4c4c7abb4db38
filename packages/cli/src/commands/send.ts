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
A payload is JSON. Standard input and files have one message a line. They are sent as they are read, in statements of up to
1000 messages, each of which is stored completely or not at all. Blank lines are skipped.

When a line is invalid, or the database fails, the error says how many messages were sent and the line to continue with:
--from-line. So does Ctrl-C, with exit code 130.

Examples:
  pgque send orders '{"orderId": 42}'
  pgque send orders '{"orderId": 43}' --delay 5m --dedupe-key order-43 --header tenant=acme
  pgque send orders --file orders.jsonl
  jq -c '.orders[]' export.json | pgque send orders --type imported
  pgque send orders --file orders.jsonl --from-line 2001   continue after a failure`;

/** The `send` command. */
export function sendCommand(): Command {
  return withDatabase(
    withJson(new Command("send"))
      .description("Send a message, or many from a file or standard input.")
      .argument("<queue>")
      .argument("[payload]", "one message, as JSON; without: JSON lines")
      .option("--file <file>", "JSON lines, one message each; - is standard input")
      .option("--from-line <n>", "first line of the input to send (default: 1)", integer)
      .option("--type <type>", "type of the message (default: default)")
      .option("--priority <n>", "on a queue with --priorities: higher ones are received first", integer)
      .option("--key <key>", "on a queue with --partitions: messages of one key stay in order")
      .option("--delay <duration>", "deliver it after this time: 30s, 5m, 2h, 1d", duration)
      .option("--at <time>", "deliver it at this time: 2026-01-31T12:00:00Z", time)
      .option("--dedupe-key <key>", "only the first message with this key is sent; later sends return its id")
      .option("--dedupe-ttl <duration>", "how long the key is remembered (default: 1d)", duration)
      .option("--header <name=value>", "a header beside the payload; a JSON value stays JSON (repeatable)", header)
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
