import { inspect } from "node:util";

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

/** A logger that throws must not end a loop. */
export function guarded(log: Logger): Logger {
  return loggerOf((level, message, fields) => {
    try {
      log[level](message, fields);
    } catch {
      // nowhere left to say it
    }
  });
}

/** A logger that adds fields to every line. */
export function withFields(log: Logger, added: Fields): Logger {
  return loggerOf((level, message, fields) => log[level](message, { ...added, ...fields }));
}

function loggerOf(line: (level: (typeof levels)[number], message: string, fields?: Fields) => void): Logger {
  return {
    debug: (message, fields) => line("debug", message, fields),
    info: (message, fields) => line("info", message, fields),
    warn: (message, fields) => line("warn", message, fields),
    error: (message, fields) => line("error", message, fields),
  };
}

function write(level: string, message: string, fields: Fields = {}): void {
  const shown = Object.entries(fields).map(
    ([name, value]) => `${name}=${value instanceof Error ? value.message : inspect(value)}`,
  );
  process.stderr.write(`pgque ${level}: ${[message, ...shown].join(" ")}\n`);
}
