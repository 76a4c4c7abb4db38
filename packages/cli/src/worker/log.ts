import { inspect } from "node:util";
import type { Fields, Logger } from "@pgque/worker";
import type { DestinationStream } from "pino";
import { explain, redact } from "../output/failure.ts";
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
    format === "pretty" ? await prettyOutput() : { write: (line) => void process.stdout.write(line) },
  );
  const line =
    (level: LogFlags["logLevel"]) =>
    (message: string, fields: Fields = {}): void => {
      if (log.isLevelEnabled(level)) log[level](shown(fields), redact(message));
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

/** What JSON can hold: ids as strings, since they may be larger than its numbers; errors with their causes and where they come from. */
function shown(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  if (typeof value === "object" && value !== null && !(value instanceof Error)) {
    try {
      return JSON.parse(JSON.stringify(value, (_, one: unknown) => scalar(one)));
    } catch {
      // it holds itself, or will not be read
      return redact(inspect(value));
    }
  }
  return scalar(value);
}

function scalar(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return redact(value);
  if (!(value instanceof Error)) return value;
  const { code } = value as { code?: unknown };
  return { type: value.name, message: explain(value), code, stack: redact(value.stack ?? "") };
}
