import { randomUUID } from "node:crypto";
import type { RedisClientOptions, RedisClientType } from "@redis/client";
import { FencedError, type OutgoingMessage, type Sink, type SinkContext } from "../sink.ts";

/** The stream that a relay writes to. */
export interface RedisSinkOptions {
  /** `redis://` or `rediss://`, with user and password when it has some. */
  url: string;
  /** The key of the stream. */
  stream: string;
  /** About so many entries are kept: the oldest go, read or not. Default: all. */
  maxLength?: number;
}

/**
 * A stream of Redis, or of what speaks its protocol, version 5 or later. One entry a message, with fields `id`, `type`, `key`, `payload` and `headers` (JSON).
 *
 * Each message is in the stream exactly once, as long as that Redis loses nothing: one transaction appends a batch and remembers its ids, in the hash
 * `{<stream>}:pgque:relay:<name>`. A failover to a replica that lags can lose both, or only the last entries: then messages are missing or twice.
 * It needs the package `@redis/client` 6.
 *
 * @throws TypeError, Error: the options are wrong, the package is not installed
 * @example
 * await relay(pgque, orders, await redisSink({ url: process.env.REDIS_URL, stream: "orders" }), { name: "to-redis" });
 */
export async function redisSink(options: RedisSinkOptions): Promise<Sink> {
  if (!/^rediss?:\/\//.test(options.url) || !URL.canParse(options.url))
    throw new TypeError("redisSink: expected `url` to be a redis:// or rediss:// URL");
  if (typeof options.stream !== "string" || options.stream === "")
    throw new TypeError("redisSink: expected `stream` to be the key of a stream");
  const { createClient } = await import("@redis/client").catch((error: unknown) => {
    throw new Error("redisSink needs the package @redis/client: npm install @redis/client@6", { cause: error });
  });
  return new RedisSink(options, createClient);
}

type CreateClient = (options: RedisClientOptions) => RedisClientType;

class RedisSink implements Sink {
  readonly #options: RedisSinkOptions;
  readonly #createClient: CreateClient;
  #client: RedisClientType | undefined;
  #name = "";
  /** Where Redis remembers which relay writes, `epoch`, and what it wrote last, `written`. In the slot of the stream. */
  #memory = "";
  #epoch: string | undefined;

  constructor(options: RedisSinkOptions, createClient: CreateClient) {
    this.#options = options;
    this.#createClient = createClient;
  }

  async open({ name }: SinkContext): Promise<void> {
    this.#client?.destroy();
    // what is lost with a connection is for write() to find out: nothing is sent again behind its back
    this.#client = this.#createClient({
      url: this.#options.url,
      disableOfflineQueue: true,
      commandOptions: { timeout: commandMs },
      socket: { connectTimeout: commandMs },
    });
    this.#client.on("error", () => undefined);
    await this.#client.connect();
    this.#name = name;
    const [, tag = this.#options.stream] = /\{([^}]+)\}/.exec(this.#options.stream) ?? [];
    this.#memory = `{${tag}}:pgque:relay:${name}`;
    const epoch = randomUUID();
    await this.#client.hSet(this.#memory, "epoch", epoch);
    this.#epoch = epoch;
  }

  async write(messages: readonly OutgoingMessage[]): Promise<void> {
    const client = this.#client;
    if (client === undefined) throw new Error("expected the sink to be open");
    const { stream, maxLength } = this.#options;
    await client.watch(this.#memory);
    const [epoch, written] = await client.hmGet(this.#memory, ["epoch", "written"]);
    // a Redis that has forgotten it has been emptied
    if (epoch === null) this.#epoch = undefined;
    else if (epoch !== this.#epoch) throw new FencedError(this.#name);
    // those of one batch, which has been written whole
    const before = new Set(written?.split(",") ?? []);
    const left = messages.filter((message) => !before.has(identityOf(message)));
    if (left.length === 0) {
      await client.unwatch();
      return;
    }
    const transaction = client.multi();
    const trimmed =
      maxLength === undefined
        ? {}
        : { TRIM: { strategy: "MAXLEN", strategyModifier: "~", threshold: maxLength } as const };
    for (const { id, type, key, body, headers } of left) {
      const fields = { id, type, ...(key === null ? {} : { key }), payload: body, headers: JSON.stringify(headers) };
      transaction.xAdd(stream, "*", fields, trimmed);
    }
    if (this.#epoch === undefined) transaction.hSet(this.#memory, "epoch", (this.#epoch = randomUUID()));
    transaction.hSet(this.#memory, "written", messages.map(identityOf).join(","));
    // when somebody has taken over since the look it fails, and the next try finds the other epoch
    await transaction.exec();
  }

  async close(): Promise<void> {
    this.#client?.destroy();
  }
}

/** Of a queue that is made anew the ids begin again. */
function identityOf({ id, createdAt }: OutgoingMessage): string {
  return `${BigInt(id).toString(36)}.${createdAt.getTime().toString(36)}`;
}

/** How long Redis may take to answer, ms. */
const commandMs = 10_000;
