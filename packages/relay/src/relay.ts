import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Batch, isPgqueError, type Message, type Pgque, type QueueRef } from "@pgque/client";
import { completed, problemsOf, refuse } from "@pgque/client/options";
import { outgoing } from "./envelope.ts";
import { relayChecks, relayOptions, type RelayOptions } from "./relay-options.ts";
import { FencedError, type OutgoingMessage, type Refusal, type Sink } from "./sink.ts";

/** A relay that runs. */
export interface Relay extends AsyncDisposable {
  /**
   * Resolves when it was stopped. Rejects when it ends by itself: with a FencedError, when another of its name has taken over; with a RefusedError,
   * when a message is refused and `onRefused` is `stop`; with a PgqueError, when its queue or its consumer is gone or it lacks a right.
   */
  readonly ended: Promise<void>;
  /** How many messages the destination has confirmed since the start. */
  readonly relayed: number;
  /** Receives no more, waits for the write that is under way, aborts it after `graceMs`, and closes the sink. In milliseconds. Default: 5000. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/** The destination refuses a message for good, and the relay ends because of it. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`message ${refusal.id} was refused: ${refusal.reason}`);
    this.refusal = refusal;
  }
}

const leaseMs = 30_000;
const maintainMs = 1000;
const pollMinMs = 10;
const retryMinMs = 100;

/** What no later try mends. */
const hopeless = ["QUEUE_NOT_FOUND", "CONSUMER_NOT_FOUND", "ACCESS_DENIED", "SCHEMA_NOT_INSTALLED", "CLOSED"] as const;

/**
 * Writes every message of a queue to a destination, in the order of the queue, and acks each when the destination has confirmed it. It has an exclusive
 * consumer: one batch at a time, and first what a crash has left. Outages of the destination and of the database are waited out, without a limit
 * and without using attempts. It maintains its queue, as a worker does.
 *
 * @param pgque its role needs `<schema>_reader`
 * @throws PgqueError INVALID_OPTION, QUEUE_NOT_FOUND, ACCESS_DENIED; INVALID_ARGUMENT when a consumer of that name is there and is not exclusive
 * @example
 * const running = await relay(pgque, orders, await redisSink({ url: process.env.REDIS_URL, stream: "orders" }), { name: "to-redis" });
 * process.once("SIGTERM", () => void running.stop());
 * await running.ended;
 */
export async function relay(pgque: Pgque, queue: QueueRef, sink: Sink, options: RelayOptions): Promise<Relay> {
  refuse("relay", [
    ...problemsOf(options, relayChecks),
    options?.name === undefined ? "expected `name`, got none" : undefined,
  ]);
  await pgque.subscribe(queue, options.name, { mode: "exclusive", from: "earliest" });
  return new Running(pgque, queue, sink, options);
}

class Running implements Relay {
  readonly ended: Promise<void>;
  relayed = 0;
  readonly #pgque: Pgque;
  readonly #queue: QueueRef;
  readonly #sink: Sink;
  readonly #options: ReturnType<typeof completed<typeof relayOptions, RelayOptions>>;
  /** Aborted by the first when no more is to be received, by the second when nothing is to be waited for. */
  readonly #stopping = new AbortController();
  readonly #cutting = new AbortController();

  constructor(pgque: Pgque, queue: QueueRef, sink: Sink, options: RelayOptions) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#sink = sink;
    this.#options = completed(options, relayOptions);
    this.ended = this.#run();
    // whoever waits for it hears of it
    this.ended.catch(() => undefined);
  }

  async stop({ graceMs = 5000 }: { graceMs?: number } = {}): Promise<void> {
    this.#stopping.abort();
    const timer = setTimeout(() => this.#cutting.abort(), graceMs);
    await this.ended.catch(() => undefined);
    clearTimeout(timer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    const over = new AbortController();
    const maintaining = this.#maintain(over.signal);
    try {
      await this.#opened();
      await this.#loop();
    } catch (error) {
      if (!this.#stopping.signal.aborted || error instanceof FencedError || error instanceof RefusedError) throw error;
    } finally {
      over.abort();
      await Promise.allSettled([maintaining, this.#sink.close()]);
    }
  }

  async #opened(): Promise<void> {
    const { signal } = this.#stopping;
    const context = { name: this.#options.name, queue: this.#source, signal };
    await this.#untilConfirmed(() => this.#sink.open(context), signal);
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    const { name, batchSize, batchBytes, pollMaxMs } = this.#options;
    const receiving = { consumer: name, max: batchSize, maxBytes: batchBytes, leaseMs, reportsStarted: true, signal };
    let waitMs = pollMinMs;
    let finished: string | undefined;
    while (!signal.aborted) {
      const batch = await this.#untilReceived(() => this.#pgque.runtime.receiveTexts(this.#queue, receiving, finished));
      if (batch === undefined) break;
      finished = undefined;
      if (batch.id === null) {
        await sleep(waitMs, undefined, { signal });
        waitMs = Math.min(2 * waitMs, pollMaxMs);
        continue;
      }
      waitMs = pollMinMs;
      finished = await this.#pass(batch);
    }
    if (finished !== undefined) await this.#pgque.ack(finished);
  }

  /** Writes a batch. Returns its id when it is to be acked with the next receive. */
  async #pass(batch: Batch<Message<string>>): Promise<string | undefined> {
    const messages = batch.messages.map((message) => outgoing(this.#options.envelope, this.#source, message));
    const keeping = setInterval(() => void batch.extend(leaseMs).catch(() => undefined), leaseMs / 3);
    let refusals: readonly Refusal[];
    try {
      refusals = await this.#written(messages);
    } finally {
      clearInterval(keeping);
    }
    this.relayed += messages.length - refusals.length;
    if (refusals.length === 0) return batch.id ?? undefined;
    await this.#settleRefused(batch, refusals);
    return undefined;
  }

  async #written(messages: readonly OutgoingMessage[]): Promise<readonly Refusal[]> {
    const { signal } = this.#cutting;
    const written = this.#untilConfirmed(() => this.#sink.write(messages, { signal }), this.#stopping.signal);
    // a sink that does not listen to it must not keep a process alive
    return (await Promise.race([written, once(signal, "abort").then(() => signal.throwIfAborted())])) ?? [];
  }

  async #settleRefused(batch: Batch<Message<string>>, refusals: readonly Refusal[]): Promise<void> {
    for (const refusal of refusals) this.#tell({ kind: "refused", ...refusal });
    const [first] = refusals;
    switch (this.#options.onRefused) {
      case "skip":
        await batch.ack();
        return;
      case "park":
        await batch.settle({ dead: refusals });
        return;
      case "stop":
        await batch.settle({ release: refusals.map(({ id }) => id) });
        throw new RefusedError(first as Refusal);
    }
  }

  /** Until the destination confirms. After a stop it is not tried again. */
  async #untilConfirmed<Result>(work: () => Promise<Result>, stopped: AbortSignal): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = await work();
        if (attempt > 1) this.#tell({ kind: "recovered", attempt });
        return result;
      } catch (error) {
        if (error instanceof FencedError || stopped.aborted) throw error;
        const retryMs = Math.min(retryMinMs * 2 ** (attempt - 1), this.#options.retryMaxMs);
        this.#tell({ kind: "outage", error, attempt, retryMs });
        await sleep(retryMs, undefined, { signal: stopped });
      }
    }
  }

  /** Until the database answers. Undefined: stopped. */
  async #untilReceived<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    const { signal } = this.#stopping;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted) return undefined;
        if (hopeless.some((code) => isPgqueError(error, code))) throw error;
        const retryMs = Math.min(retryMinMs * 2 ** (attempt - 1), this.#options.retryMaxMs);
        this.#tell({ kind: "database", error, retryMs });
        await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #maintain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // what goes wrong here goes wrong in the receive as well, or mends
      await this.#pgque.maintain(this.#queue, { signal }).catch(() => undefined);
      await sleep(maintainMs, undefined, { signal }).catch(() => undefined);
    }
  }

  get #source(): string {
    return typeof this.#queue === "string" ? this.#queue : this.#queue.name;
  }

  #tell(event: Parameters<NonNullable<RelayOptions["onEvent"]>>[0]): void {
    this.#options.onEvent?.(event);
  }
}
