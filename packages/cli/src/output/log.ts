import { inspect } from "node:util";
import type { Fields, Logger } from "@pgque/worker";
import { sanitize, redact } from "@pgque/client/redact";
import { explain } from "./failure.ts";

/** One line per event, for people: time, level, message, fields. */
export function lineLogger(write: (line: string) => void): Logger {
  const line =
    (level: string) =>
    (message: string, fields: Fields = {}): void => {
      const shown = Object.entries(fields).map(([name, value]) => `${name}=${show(value)}`);
      write(sanitize(redact(oneLine([new Date().toISOString(), level, message, ...shown].join(" ")))));
    };
  return {
    debug: () => undefined,
    info: line("info "),
    warn: line("warn "),
    error: line("error"),
  };
}

function show(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(explain(value));
  if (typeof value === "string") return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  if (typeof value === "bigint") return String(value);
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, " ");
}
