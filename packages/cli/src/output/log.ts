import { inspect } from "node:util";
import type { Fields, Logger } from "@pgque/worker";
import { sanitize, redact } from "@pgque/client/redact";
import { explain } from "./failure.ts";
import { json } from "./json.ts";

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

/** The same for programs: one JSON object a line, of the same form as a worker's. */
export function jsonLogger(write: (line: string) => void): Logger {
  const line =
    (level: string) =>
    (message: string, fields: Fields = {}): void => {
      // each by itself: in the line as a whole a password would seem to go on to some @ of another field
      const told = Object.entries(fields).map(([name, value]) => [fieldName(name), plain(value)]);
      write(json({ level, time: new Date().toISOString(), ...Object.fromEntries(told), msg: message }, 0));
    };
  return { debug: () => undefined, info: line("info"), warn: line("warn"), error: line("error") };
}

/** What a line of JSON has of itself: a field of that name would take its place. */
const own = new Set(["level", "time", "msg"]);

/** The name of a field in a line of JSON. */
export function fieldName(name: string): string {
  return own.has(name) ? `${name}_` : name;
}

function plain(value: unknown): unknown {
  if (value instanceof Error) return explain(value);
  return typeof value === "string" ? redact(value) : value;
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
