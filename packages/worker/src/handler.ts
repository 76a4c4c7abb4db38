import type { Message } from "@pgque/client";
import { withFields, type Logger } from "./log.ts";

/** What a handler is given beside its message. */
export interface HandlerContext {
  /** Aborted when the worker stops and this handler was not done within `shutdownTimeoutMs`. */
  readonly signal: AbortSignal;
  /** The worker's logger, with queue, message id and attempt on every line. */
  readonly log: Logger;
  /** 1 the first time the message is delivered. */
  readonly attempt: number;
}

/** Handles one message: returns when it is done, throws to have it tried again later. What it returns has no meaning yet. */
export type Handler<Payload = unknown> = (message: Message<Payload>, context: HandlerContext) => unknown;

/** The context of one call. Signal and logger are made when they are asked for: most handlers that are short do not. */
export class CallContext implements HandlerContext {
  readonly attempt: number;
  readonly #message: Message;
  readonly #queue: string;
  readonly #log: Logger;
  #aborter: AbortController | undefined;
  #aborted: Error | undefined;

  constructor(queue: string, message: Message, log: Logger) {
    this.attempt = message.attempt;
    this.#queue = queue;
    this.#message = message;
    this.#log = log;
  }

  get signal(): AbortSignal {
    this.#aborter ??= new AbortController();
    if (this.#aborted) this.#aborter.abort(this.#aborted);
    return this.#aborter.signal;
  }

  get log(): Logger {
    return withFields(this.#log, { queue: this.#queue, message: this.#message.id, attempt: this.attempt });
  }

  abort(reason: Error): void {
    this.#aborted = reason;
    this.#aborter?.abort(reason);
  }
}
