import { setTimeout as sleep } from "node:timers/promises";
import type { Latencies } from "../../measure/histogram.ts";
import { nowMs, type Ticker } from "../../measure/ticker.ts";
import { Seen, type Numbered } from "../../load/messages.ts";

/** Messages at a fixed rate, and what their handlers do. */
export interface Load {
  messagesPerSecond: number;
  messages: number;
  /** How long a handler goes on after it has the message. */
  handlerMs: number;
}

/** The first is due so long after the start. */
const leadMs = 5;

/** What the last message is given to arrive. */
const patienceMs = 30_000;

/** Sends in an open loop, whatever became of what was sent before, and waits until everything has arrived once. */
export class Round {
  readonly #load: Load;
  readonly #measured: { latencies: Latencies; lateness: Latencies } | null;
  readonly #seen: Seen;
  readonly #arrived = Promise.withResolvers<void>();

  constructor(load: Load, measured: { latencies: Latencies; lateness: Latencies } | null) {
    this.#load = load;
    this.#measured = measured;
    this.#seen = new Seen(load.messages);
  }

  async run(ticker: Ticker, send: (message: Numbered) => Promise<unknown>): Promise<void> {
    const { messages, messagesPerSecond } = this.#load;
    const everyMs = 1000 / messagesPerSecond;
    const sends: Promise<unknown>[] = [];
    await ticker.run({ startMs: nowMs() + leadMs, everyMs, count: messages }, (n, due) => {
      this.#measured?.lateness.record(nowMs() - due);
      sends.push(send({ n, due }));
    });
    await Promise.all(sends);
    await this.#all();
  }

  /** When its handler had it: at the time of the call. */
  handle(message: Numbered, atMs: number): unknown {
    this.#seen.add(message);
    this.#measured?.latencies.record(atMs - (message.due ?? 0));
    if (this.#seen.count === this.#load.messages) this.#arrived.resolve();
    return this.#load.handlerMs === 0 ? undefined : sleep(this.#load.handlerMs);
  }

  async #all(): Promise<void> {
    const { messages } = this.#load;
    const timer = setTimeout(
      () => this.#arrived.reject(new Error(`expected ${messages} messages to arrive, ${this.#seen.count} did`)),
      patienceMs,
    );
    await this.#arrived.promise.finally(() => clearTimeout(timer));
    if (this.#seen.again > 0) throw new Error(`expected every message to arrive once, ${this.#seen.again} came again`);
  }
}
