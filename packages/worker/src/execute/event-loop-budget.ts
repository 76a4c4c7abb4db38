import { setImmediate } from "node:timers";

/**
 * How long handlers are begun before the event loop has its turn. Short ones that never wait would keep heartbeats from being sent, and the
 * next batch from being asked for while this one is handled.
 */
const turnMs = 2;

/** A stretch of work between two turns of the event loop. */
export class EventLoopBudget {
  readonly #onNext: () => void;
  #endsAtMs: number | undefined;
  #waiting: (() => void)[] = [];

  /** `onNext`: called when the event loop has had its turn after one was asked about. */
  constructor(onNext: () => void) {
    this.#onNext = onNext;
  }

  /** Whether to begin nothing more. To ask begins a turn. */
  get isOver(): boolean {
    const nowMs = performance.now();
    if (this.#endsAtMs === undefined) {
      this.#endsAtMs = nowMs + turnMs;
      setImmediate(() => this.#next());
    }
    return nowMs >= this.#endsAtMs;
  }

  /** Resolves with the next turn, of one that is over. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #next(): void {
    const waiting = this.#waiting;
    this.#endsAtMs = undefined;
    this.#waiting = [];
    for (const go of waiting) go();
    this.#onNext();
  }
}
