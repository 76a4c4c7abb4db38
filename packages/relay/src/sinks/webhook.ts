import { createHmac } from "node:crypto";
import { lookup as dnsLookup } from "node:dns";
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { OutgoingMessage, Refusal, Sink } from "../sink.ts";
import { isPrivate } from "./private-address.ts";

/** The receiver that a relay calls. */
export interface WebhookSinkOptions {
  /** `https://`, or `http://` with `allowPrivate`. Without user and password: those go into `headers`. */
  url: string;
  /** Signs each request, by Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. Several: each signs, while a receiver changes to another. */
  secret: string | readonly string[];
  /** Headers of every request, such as `authorization`. Default: none. */
  headers?: Readonly<Record<string, string>>;
  /** Requests at once, of different keys; messages without a key have no order. 1 to 1000. Default: 8. */
  concurrency?: number;
  /** How long a request may take, in milliseconds. Default: 15000. */
  timeoutMs?: number;
  /** Whether the receiver may be in a private network or on this machine. Default: false. */
  allowPrivate?: boolean;
}

/**
 * An HTTP receiver: a POST a message, signed as Standard Webhooks says, at least once. `webhook-id` is the queue and the id of the message and stays the same,
 * so that the receiver can pass over what it has had. Of the sender's headers only `traceparent` and `tracestate` are sent.
 *
 * - 2xx: done. 400, 413, 415 and 422: refused for good. Anything else, a redirect included: an outage; after a 429 or 503 with `Retry-After` for so long.
 * - The name of the host is looked up once a connection, and an address in a private network is not called, whatever the name says.
 *
 * @throws TypeError the options are wrong; it names none of the secrets
 * @example
 * const sink = webhookSink({ url: "https://example.com/hooks", secret: process.env.WEBHOOK_SECRET });
 * await relay(pgque, orders, sink, { name: "to-shop", envelope: "cloudevents" });
 */
export function webhookSink(options: WebhookSinkOptions): Sink {
  return new WebhookSink(options);
}

const refusing = new Set([400, 413, 415, 422]);
const retryAfterMaxMs = 3_600_000;

class WebhookSink implements Sink {
  readonly #url: URL;
  readonly #keys: readonly Buffer[];
  readonly #options: WebhookSinkOptions;
  readonly #agent: http.Agent;
  #queue = "";
  /** What became of messages of a write that was broken off: of those that were answered. */
  readonly #answered = new Map<string, Refusal | undefined>();
  #notBeforeMs = 0;

  constructor(options: WebhookSinkOptions) {
    const { url, secret, allowPrivate = false, concurrency = 8 } = options;
    this.#url = checkedUrl(url, allowPrivate);
    this.#keys = [secret].flat().map(keyOf);
    this.#options = options;
    const settings = { keepAlive: true, maxSockets: concurrency, lookup: allowPrivate ? undefined : publicLookup };
    this.#agent = this.#url.protocol === "https:" ? new https.Agent(settings) : new http.Agent(settings);
  }

  async open({ queue }: { queue: string }): Promise<void> {
    this.#queue = queue;
  }

  async write(messages: readonly OutgoingMessage[], { signal }: { signal: AbortSignal }): Promise<readonly Refusal[]> {
    const waitMs = this.#notBeforeMs - Date.now();
    if (waitMs > 0) throw new Error(`the receiver has asked to wait, for ${Math.ceil(waitMs / 1000)} s more`);
    const left = messages.filter(({ id }) => !this.#answered.has(id));
    const groups = [...Map.groupBy(left, ({ key, id }) => (key === null ? `id ${id}` : `key ${key}`)).values()];
    const failures: unknown[] = [];
    const worker = async (): Promise<void> => {
      for (let group = groups.shift(); group !== undefined && failures.length === 0; group = groups.shift())
        await this.#deliver(group, failures, signal);
    };
    await Promise.all(Array.from({ length: this.#options.concurrency ?? 8 }, worker));
    if (failures.length > 0) throw failures[0];
    const refusals = messages.flatMap(({ id }) => this.#answered.get(id) ?? []);
    this.#answered.clear();
    return refusals;
  }

  /** One after the other, up to the first that fails. */
  async #deliver(group: readonly OutgoingMessage[], failures: unknown[], signal: AbortSignal): Promise<void> {
    for (const message of group) {
      if (failures.length > 0) return;
      try {
        this.#answered.set(message.id, await this.#post(message, signal));
      } catch (error) {
        failures.push(error);
      }
    }
  }

  async #post(message: OutgoingMessage, signal: AbortSignal): Promise<Refusal | undefined> {
    const { status, retryAfter } = await this.#request(message, signal);
    if (status >= 200 && status < 300) return undefined;
    if (refusing.has(status)) return { id: message.id, reason: `the receiver answered ${status}` };
    this.#notBeforeMs = Date.now() + Math.min(retryAfterMs(retryAfter), retryAfterMaxMs);
    throw new Error(`the receiver answered ${status}`);
  }

  #request(
    { id, body, headers }: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<{ status: number; retryAfter: string | undefined }> {
    const webhookId = `${encodeURIComponent(this.#queue)}.${id}`;
    const seconds = String(Math.floor(Date.now() / 1000));
    const signed = `${webhookId}.${seconds}.${body}`;
    const signatures = this.#keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
    const { traceparent, tracestate } = headers;
    const { timeoutMs = 15_000 } = this.#options;
    const late = AbortSignal.timeout(timeoutMs);
    const settings: https.RequestOptions = {
      method: "POST",
      agent: this.#agent,
      signal: AbortSignal.any([signal, late]),
      headers: {
        ...this.#options.headers,
        "content-type": headers["content-type"] ?? "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "pgque-relay",
        "webhook-id": webhookId,
        "webhook-timestamp": seconds,
        "webhook-signature": signatures.join(" "),
        ...(isPrintable(traceparent) ? { traceparent } : {}),
        ...(isPrintable(tracestate) ? { tracestate } : {}),
      },
    };
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; retryAfter: string | undefined }>();
    const request = (this.#url.protocol === "https:" ? https : http).request(this.#url, settings, (response) => {
      response.on("error", reject);
      // the connection is used again when all has been read
      response.resume();
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] }),
      );
    });
    request.on("error", (error) =>
      reject(late.aborted ? new Error(`the receiver did not answer within ${timeoutMs} ms`, { cause: error }) : error),
    );
    request.end(body);
    return promise;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }
}

function checkedUrl(text: string, allowPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const host = url?.hostname.replaceAll(/^\[|\]$/g, "") ?? "";
  if (url === undefined || !["https:", "http:"].includes(url.protocol))
    throw wrong("expected `url` to be an https URL");
  if (url.username !== "" || url.password !== "")
    throw wrong("expected `url` without user and password: give `headers: { authorization }`");
  if (!allowPrivate && url.protocol === "http:")
    throw wrong("expected `url` to be an https URL, or `allowPrivate: true`");
  if (!allowPrivate && isIP(host) !== 0 && isPrivate(host))
    throw wrong(`expected \`url\` to be a public address, or \`allowPrivate: true\`, got: ${host}`);
  return url;
}

function keyOf(secret: unknown): Buffer {
  const [, base64 = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(String(secret)) ?? [];
  const key = Buffer.from(base64, "base64");
  if (key.length < 24 || key.length > 64)
    throw wrong("expected `secret` to be whsec_ and 24 to 64 bytes in base64, as Standard Webhooks has it");
  return key;
}

function wrong(problem: string): TypeError {
  return new TypeError(`webhookSink: ${problem}`);
}

/** Looks a name up, and refuses when any of its addresses is private: the one that is checked is the one that is called. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, "", 0);
    const found = addresses.find(({ address }) => isPrivate(address));
    if (found !== undefined)
      return callback(new Error(`${hostname} is ${found.address}, which is not a public address`), "", 0);
    const [first] = addresses;
    if (options.all) return callback(null, addresses);
    return callback(null, first?.address ?? "", first?.family ?? 4);
  });
};

/** Seconds or a date, as RFC 9110 has it. */
function retryAfterMs(value: string | undefined): number {
  if (value === undefined) return 0;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

function isPrintable(value: string | undefined): value is string {
  return value !== undefined && /^[\x20-\x7E]{1,1000}$/.test(value);
}
