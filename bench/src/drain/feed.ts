import { numbered } from "../load/numbered.ts";
import type { Store } from "../adapters/adapter.ts";
import type { Fleet } from "./fleet.ts";

const inOneCall = 10_000;

/** Sends the messages of a cell: before the start so many as are to be ahead of what is handled, and the rest as it goes on. */
export class Feed {
  readonly #store: Store;
  readonly #messages: number;
  readonly #ahead: number;
  #sent = 0;

  constructor(store: Store, messages: number, ahead: number) {
    this.#store = store;
    this.#messages = messages;
    this.#ahead = ahead;
  }

  /** Until there are so many more than were handled, or all. */
  async fill(handled: number, signal: AbortSignal): Promise<void> {
    while (this.#sent < Math.min(this.#messages, handled + this.#ahead)) {
      signal.throwIfAborted();
      const count = Math.min(inOneCall, this.#messages - this.#sent);
      await this.#store.send(numbered(this.#sent, count));
      this.#sent += count;
    }
  }

  /** Resolves when all are sent. */
  async keepAhead(fleet: Fleet, signal: AbortSignal): Promise<void> {
    while (this.#sent < this.#messages) {
      await fleet.handled(this.#sent - this.#ahead + inOneCall, signal);
      await this.fill(fleet.handledNow, signal);
    }
  }
}
