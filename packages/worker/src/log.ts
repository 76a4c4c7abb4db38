import { inspect } from "node:util";
import { sanitize, redact } from "@pgque/client/redact";

/** Data of a log line. */
export type Fields = Record<string, unknown>;

/** Where a worker says what happens. `console` is one. */
export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

const levels = ["debug", "info", "warn", "error"] as const;

/** What is used when no logger is given: warnings and errors, a line each, on standard error. */
export const standardError: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, fields) => write("warn", message, fields),
  error: (message, fields) => write("error", message, fields),
};

const guards = new WeakMap<Logger, Logger>();

/** A logger that throws must not end a loop. The same one for the same logger. */
export function guarded(log: Logger): Logger {
  const known = guards.get(log);
  if (known !== undefined) return known;
  const guard = loggerOf((level, message, fields) => {
    try {
      log[level](message, fields);
    } catch {
      // nowhere left to say it
    }
  });
  guards.set(log, guard);
  return guard;
}

/** Of a logger that adds fields, the one without them. */
const plain = new WeakMap<Logger, Logger>();

/** Says what is about several workers to the logger of each, once where they have the same but for fields. `of`: those of just then. */
export function shared(of: () => Iterable<Logger>): Logger {
  return loggerOf((level, message, fields) => {
    for (const log of new Set(Array.from(of(), (one) => plain.get(one) ?? one))) log[level](message, fields);
  });
}

/** A logger that adds fields to every line. */
export function withFields(log: Logger, added: Fields): Logger {
  const adding = loggerOf((level, message, fields) => log[level](message, { ...added, ...fields }));
  plain.set(adding, plain.get(log) ?? log);
  return adding;
}

/** A logger that tells `also` of every line above `debug`, too. */
export function alsoTo(log: Logger, also: (level: string, message: string, fields?: Fields) => void): Logger {
  return loggerOf((level, message, fields) => {
    log[level](message, fields);
    if (level !== "debug") also(level, message, fields);
  });
}

function loggerOf(line: (level: (typeof levels)[number], message: string, fields?: Fields) => void): Logger {
  return {
    debug: (message, fields) => line("debug", message, fields),
    info: (message, fields) => line("info", message, fields),
    warn: (message, fields) => line("warn", message, fields),
    error: (message, fields) => line("error", message, fields),
  };
}

function write(level: string, message: string, fields?: Fields): void {
  process.stderr.write(`${lineOf(level, message, fields)}\n`);
}

/** What is written of a call: one line, whatever others have written into message and fields. */
export function lineOf(level: string, message: string, fields: Fields = {}): string {
  const told = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  return `pgque ${level}: ${sanitize(redact([message, ...told].join(" ")))}`;
}

function shown(value: unknown): string {
  try {
    const told: unknown = value instanceof Error ? value.message : undefined;
    return typeof told === "string" ? told : inspect(value);
  } catch {
    // a revoked Proxy, or one whose parts will not be read: the line is told without it
    return "?";
  }
}
