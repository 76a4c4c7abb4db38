import { inspect } from "node:util";
import type { Fields, Logger } from "@pgque/worker";
import type { DestinationStream } from "pino";
import { sanitize, sanitizeLines, redact } from "@pgque/client/redact";
import { explain } from "../output/failure.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export const logFormats = ["json", "pretty"] as const;

/** How a worker logs. */
export interface LogFlags {
  logLevel: (typeof logLevels)[number];
  /** Default: for people on a terminal, else JSON. */
  logFormat?: (typeof logFormats)[number];
}

/** A line on standard output for each event: JSON for programs, or for people. Without the passwords of connection strings. */
export async function workerLog(
  { logLevel, logFormat }: LogFlags,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<Logger> {
  const { pino } = await import("pino");
  const format = logFormat ?? (process.stdout.isTTY ? "pretty" : "json");
  const log = pino(
    {
      level: logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    format === "pretty" ? await prettyOutput(write) : { write: (line) => write(sanitizeLines(line)) },
  );
  // what colors a line for people are control characters too: text of others is made harmless before, and begins no line of its own
  const escape: Escape = format === "pretty" ? (text) => sanitize(redact(text)) : redact;
  const line =
    (level: LogFlags["logLevel"]) =>
    (message: string, fields: Fields = {}): void => {
      if (log.isLevelEnabled(level)) log[level](shown(fields, escape), escape(message));
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

async function prettyOutput(write: (text: string) => void): Promise<DestinationStream> {
  const { prettyFactory } = await import("pino-pretty");
  const pretty = prettyFactory({
    colorize: process.stdout.isTTY && !process.env["NO_COLOR"],
    translateTime: "HH:MM:ss.l",
    errorLikeObjectKeys: ["error"],
  });
  return { write: (line) => write(pretty(line) ?? "") };
}

/** What a line of JSON has of itself: a field of that name would take its place. */
const own = new Set(["level", "time", "msg"]);

/** The name of a field in a line of JSON. */
function fieldName(name: string): string {
  return own.has(name) ? `${name}_` : name;
}

/** A text without what it must not hold. */
type Escape = (text: string) => string;

/** What JSON can hold: ids as strings, since they may be larger than its numbers; errors with their causes and where they come from. */
function shown(fields: Fields, escape: Escape): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [escape(fieldName(name)), plain(value, escape)]),
  );
}

function plain(value: unknown, escape: Escape): unknown {
  if (typeof value === "object" && value !== null && !(value instanceof Error)) {
    try {
      return named(JSON.parse(JSON.stringify(value, (_, one: unknown) => scalar(one, escape))), escape);
    } catch {
      // it holds itself, or will not be read
      return escape(inspect(value));
    }
  }
  return scalar(value, escape);
}

/** A payload that a handler logs has keys of others, too. */
function named(json: unknown, escape: Escape): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map((part: unknown) => named(part, escape));
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [escape(name), named(value, escape)]));
}

function scalar(value: unknown, escape: Escape): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return escape(value);
  if (!(value instanceof Error)) return value;
  const { code, name } = value as { code?: unknown; name: unknown };
  return {
    type: typeof name === "string" ? escape(name) : "Error",
    message: escape(explain(value, "; because: ")),
    code: plain(code, escape),
    stack: framesOf(value, escape),
  };
}

/** Where an error comes from, a line for each call: its message, which others may have written, stands elsewhere. */
function framesOf({ stack = "" }: Error, escape: Escape): string {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map(escape)
    .join("\n");
}
