import type { Headers } from "../types.ts";
import { sendOptions, type SendOptions } from "./send-options.ts";

const { maxRetries, timeoutMs, retryMinMs, resultTtlMs } = sendOptions;

/** The options of a send that travel with the message, in headers of theirs. */
const headerOptions = { maxRetries, timeoutMs, retryMinMs, resultTtlMs };
const declared = Object.entries(headerOptions);

export type HeaderOptions = Pick<SendOptions, keyof typeof headerOptions>;

/** Headers with those in which options travel. */
export function withHeaderOptions(headers: Headers | undefined, options: HeaderOptions): Headers | undefined {
  const own = declared.flatMap(([name, { header }]) => {
    const value = options[name as keyof HeaderOptions];
    return value === undefined ? [] : [[header, value] as const];
  });
  return own.length === 0 ? headers : { ...headers, ...Object.fromEntries(own) };
}

/** The options that travel with a message. What cannot be a value, which a sender in SQL may have written, is none. */
export function headerOptionsOf(headers: Headers): HeaderOptions {
  const found: Record<string, unknown> = {};
  // asked of every message
  for (const [name, { header, check }] of declared) {
    const value = headers[header];
    if (value !== undefined && check(name, value) === undefined) found[name] = value;
  }
  return found;
}
