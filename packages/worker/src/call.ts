import type { Message, Pgque } from "@pgque/client";
import { CallContext } from "./context.ts";
import type { OpenBatch } from "./open-batch.ts";
import type { ResolvedOptions } from "./options.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import { failed } from "./retry-policy.ts";
import { inTransaction } from "./transaction.ts";

/** How long a handler has to notice that its time is over. */
const graceMs = 1000;

/** What nearly every call comes to, made once. */
const done: Outcome = { kind: "done" };
const oneDone: readonly Outcome[] = [done];

/** One call of a handler: its context, its time limit, its transaction, and what came of it. */
export class Call {
  /** Whether its messages were acked in its transaction. */
  isAcked = false;
  /** By `performance.now()`. */
  readonly begunAtMs = performance.now();
  readonly #pgque: Pgque;
  readonly #queue: string;
  readonly #batch: OpenBatch;
  readonly #messages: readonly Message[];
  readonly #options: ResolvedOptions;
  readonly #context: CallContext;
  /** What its messages were given up to: whatever the handler comes to after that comes too late. */
  #givenUp: readonly Outcome[] | undefined;

  constructor(pgque: Pgque, queue: string, batch: OpenBatch, messages: readonly Message[], options: ResolvedOptions) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#batch = batch;
    this.#messages = messages;
    this.#options = options;
    this.#context = new CallContext(pgque, batch.id, options.batch ? undefined : messages[0], options);
  }

  /**
   * What became of each message, at once when the handler did not return a promise; otherwise `ended` is told, once. Promises for every message
   * would cost more than all else that is done with it. Never throws. `late` is called when the handler goes on after its time limit, and is to
   * give the call up.
   */
  run(
    handle: (context: CallContext) => unknown,
    late: (outcomes: readonly Outcome[]) => void,
    ended: (outcomes: readonly Outcome[]) => void,
  ): readonly Outcome[] | undefined {
    const work = this.#isSurrounded ? this.#traced(() => this.#surrounded(handle)) : this.#plain(handle);
    if (!(work instanceof Promise)) return work;
    const stopClock = this.#startClock(late);
    const end = (outcomes: readonly Outcome[]): void => {
      stopClock();
      ended(this.isAcked ? outcomes : this.#unlessGivenUp(outcomes));
    };
    work.then(end, (error: unknown) => end(this.#failures(error)));
    return undefined;
  }

  /** From now on its messages have these outcomes, and its transaction does not commit. */
  giveUp(outcomes: readonly Outcome[]): void {
    this.#givenUp ??= outcomes;
  }

  abort(reason: Error): void {
    this.#context.abort(reason);
  }

  /** Whether something goes around the handler that has to be waited for. */
  get #isSurrounded(): boolean {
    return this.#options.transactional || this.#pgque.telemetry !== undefined;
  }

  #plain(handle: (context: CallContext) => unknown): readonly Outcome[] | Promise<readonly Outcome[]> {
    try {
      const value = handle(this.#context);
      return isThenable(value) ? Promise.resolve(value).then((said) => this.#read(said)) : this.#read(value);
    } catch (error) {
      return this.#failures(error);
    }
  }

  async #surrounded(handle: (context: CallContext) => unknown): Promise<readonly Outcome[]> {
    return this.#options.transactional ? this.#inTransaction(handle) : this.#read(await handle(this.#context));
  }

  async #inTransaction(handle: (context: CallContext) => unknown): Promise<readonly Outcome[]> {
    const { consumer, answerTimeoutMs } = this.#options;
    const acked = { batchId: this.#batch.id, messageIds: this.#messages.map(({ id }) => id) };
    const source = { queue: this.#queue, consumer };
    const outcomes = await inTransaction(this.#pgque, source, acked, answerTimeoutMs, async (tx) => {
      this.#context.transaction = tx;
      // somebody else may have done the work by now
      return this.#unlessGivenUp(this.#read(await handle(this.#context)));
    });
    this.isAcked = outcomes.every(({ kind }) => kind === "done");
    return outcomes;
  }

  #unlessGivenUp(outcomes: readonly Outcome[]): readonly Outcome[] {
    return this.#givenUp ?? outcomes;
  }

  /** A handler of batches says what became of each, any other of its one message. */
  #read(value: unknown): readonly Outcome[] {
    const { batch, clock } = this.#options;
    if (value === undefined && this.#messages.length === 1) return oneDone;
    return this.#messages.map((_, i) => {
      const said: unknown = batch && Array.isArray(value) ? value[i] : value;
      return outcomeOf(said, clock) ?? done;
    });
  }

  #traced(work: () => Promise<readonly Outcome[]>): Promise<readonly Outcome[]> {
    const { telemetry } = this.#pgque;
    const { batch, consumer } = this.#options;
    const [message] = this.#messages;
    if (telemetry === undefined || message === undefined) return work();
    if (batch) return telemetry.processBatch(this.#queue, consumer, this.#messages, work);
    return telemetry.process(this.#queue, consumer, message, work);
  }

  #failures(error: unknown): readonly Outcome[] {
    return this.#givenUp ?? this.#messages.map((message) => this.#failed(message, error));
  }

  #failed(message: Message, error: unknown): Outcome {
    const outcome = failed(message, error, this.#options);
    const foreseen = this.#options.attempts.foreseen(message, outcome);
    this.#options.log.warn("message failed", {
      message: message.id,
      attempt: message.attempt,
      ...(foreseen.kind === "retry" ? { retryAfterMs: foreseen.afterMs } : { dead: true }),
      error,
    });
    return outcome;
  }

  #startClock(late: (outcomes: readonly Outcome[]) => void): () => void {
    const { timeLimitMs } = this.#options;
    if (timeLimitMs === Number.POSITIVE_INFINITY) return () => undefined;
    const sinceMs = performance.now() - this.begunAtMs;
    let timer = setTimeout(() => {
      const reason = new DOMException(
        `the handler took longer than its time limit of ${timeLimitMs} ms`,
        "TimeoutError",
      );
      this.abort(reason);
      timer = setTimeout(() => late(this.#failures(reason)), graceMs);
    }, timeLimitMs - sinceMs);
    return () => clearTimeout(timer);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const mayBe = (typeof value === "object" && value !== null) || typeof value === "function";
  return mayBe && typeof (value as { then?: unknown }).then === "function";
}
