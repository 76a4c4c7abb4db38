import { InvalidArgumentError } from "commander";
import type { FlagSpec } from "../option-flags.ts";
import { UsageError } from "../output/failure.ts";

/**
 * The value of a JSON text. A number that JavaScript cannot hold, an id of twenty digits say, stays as it was written and is sent so.
 *
 * @throws Error when it is not JSON
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, exactNumber);
  } catch (cause) {
    throw new Error(`${shown(text)}, which is not JSON`, { cause });
  }
}

/**
 * The payload in an argument.
 *
 * @throws UsageError when it is not JSON
 */
export function payloadOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const hint = `A string needs its quotes in JSON: '${JSON.stringify(text.slice(0, 40))}'`;
    throw new UsageError(`expected a payload in JSON, got: ${(error as Error).message}. ${hint}`);
  }
}

/** The flag of an option for headers. */
export const headerFlag: FlagSpec = {
  flag: "--header <name=value>",
  help: "a header beside the payload; a JSON value stays JSON (repeatable)",
  read: header,
};

/** Adds a header to those that were given before. */
function header(text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
  const split = text.indexOf("=");
  if (split < 1) throw new InvalidArgumentError(`Expected name=value, got: ${JSON.stringify(text)}.`);
  // own properties alone: `__proto__` is a name like any other
  return Object.fromEntries([...Object.entries(before), [text.slice(0, split), jsonOrText(text.slice(split + 1))]]);
}

function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

interface Json {
  rawJSON(text: string): unknown;
}

function exactNumber(_name: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || isExact(value, source)) return value;
  return (JSON as unknown as Json).rawJSON(source);
}

/** "1.0" and "1e2" mean what the number does; more digits than it has do not. */
function isExact(value: number, source: string): boolean {
  if (String(value) === source) return true;
  const digits = source
    .replace(/e.*$/i, "")
    .replace(/^-?[0.]*/, "")
    .replace(".", "")
    .replace(/0+$/, "");
  return Number.isFinite(value) && digits.length <= 15;
}

function shown(text: string): string {
  const begin = text.trim().slice(0, 60);
  return JSON.stringify(begin.length < text.trim().length ? `${begin}…` : begin);
}
