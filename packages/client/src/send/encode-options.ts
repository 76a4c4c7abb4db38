import { PgqueError } from "../errors/errors.ts";
import { encodeJson } from "../payload/payload.ts";
import type { Headers } from "../types.ts";
import { withHeaderOptions } from "./header-options.ts";
import type { SendManyOptions, SendOptions } from "./send-options.ts";

/** How many bytes headers may have as JSON text. Also SQL's, which writes a space after each colon and comma. */
const headersBytesMax = 65_536;

/** The headers as a JSON text, the other options as one, and one with both. Null: none. */
export function encodeSendOptions(
  queue: string,
  { headers: given, ...options }: Omit<SendOptions & SendManyOptions, "signal">,
): { headers: string | null; rest: string | null; all: string | null } {
  const rest = JSON.stringify({
    delay: seconds(options.delayMs),
    at: options.at,
    priority: options.priority,
    key: options.key,
    keys: options.keys,
    ttl: seconds(options.ttlMs),
    expires_at: options.expiresAt,
    dedupe_key: options.dedupeKey,
    dedupe_keys: options.dedupeKeys,
    dedupe_ttl: seconds(options.dedupeTtlMs),
    if_waiting: options.ifWaiting,
  }).slice(1, -1);
  const headers = withHeaderOptions(given, options);
  const encoded = headers === undefined ? undefined : encodeHeaders(queue, headers);
  const members = [encoded && `"headers":${encoded}`, rest].filter(Boolean);
  return {
    headers: encoded ?? null,
    rest: rest === "" ? null : `{${rest}}`,
    all: members.length === 0 ? null : `{${members.join(",")}}`,
  };
}

/** @throws PgqueError PAYLOAD_NOT_JSON; INVALID_OPTION when they are larger than the database takes */
export function encodeHeaders(queue: string, headers: Headers): string {
  const encoded = encodeJson(queue, "headers", headers);
  const bytes = Buffer.byteLength(encoded);
  if (bytes <= headersBytesMax) return encoded;
  const problem = `expected \`headers\` to have at most ${headersBytesMax} bytes as JSON, got: ${bytes}`;
  throw new PgqueError("INVALID_OPTION", problem, {
    hint: "Nothing was sent: store it in the payload, or elsewhere and send a reference",
    details: { queue, problems: [problem] },
  });
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);
