import { inspect } from "node:util";
import type { Fields, Logger } from "@pgque/worker";
import type { DestinationStream } from "pino";
import { printable, printableLines, redact } from "@pgque/client/printed";
import { explain } from "../output/failure.ts";
import type { LogFlags } from "./log-flags.ts";

/** A line on standard output for each event: JSON for programs, or for people. Without the passwords of connection strings. */
export async function workerLog({ logLevel, logFormat }: LogFlags): Promise<Logger> {
  const { pino } = await import("pino");
  const format = logFormat ?? (process.stdout.isTTY ? "pretty" : "json");
  const log = pino(
    {
      level: logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    format === "pretty" ? await prettyOutput() : { write: (line) => void process.stdout.write(printableLines(line)) },
  );
  // what colors a line for people are control characters too: text of others is made harmless before, and begins no line of its own
  const say: Say = format === "pretty" ? (text) => printable(redact(text)) : redact;
  const line =
    (level: LogFlags["logLevel"]) =>
    (message: string, fields: Fields = {}): void => {
      if (log.isLevelEnabled(level)) log[level](shown(fields, say), say(message));
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

async function prettyOutput(): Promise<DestinationStream> {
  const { prettyFactory } = await import("pino-pretty");
  const pretty = prettyFactory({
    colorize: process.stdout.isTTY && !process.env["NO_COLOR"],
    translateTime: "HH:MM:ss.l",
    errorLikeObjectKeys: ["error"],
  });
  return { write: (line) => void process.stdout.write(pretty(line)) };
}

/** A text without what it must not hold. */
type Say = (text: string) => string;

/** What JSON can hold: ids as strings, since they may be larger than its numbers; errors with their causes and where they come from. */
function shown(fields: Fields, say: Say): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value, say)]));
}

function plain(value: unknown, say: Say): unknown {
  if (typeof value === "object" && value !== null && !(value instanceof Error)) {
    try {
      return JSON.parse(JSON.stringify(value, (_, one: unknown) => scalar(one, say)));
    } catch {
      // it holds itself, or will not be read
      return say(inspect(value));
    }
  }
  return scalar(value, say);
}

function scalar(value: unknown, say: Say): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return say(value);
  if (!(value instanceof Error)) return value;
  const { code } = value as { code?: unknown };
  return { type: value.name, message: say(explain(value, "; because: ")), code, stack: framesOf(value, say) };
}

/** Where an error comes from, a line for each call: its message, which others may have written, stands elsewhere. */
function framesOf({ stack = "" }: Error, say: Say): string {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map(say)
    .join("\n");
}
