import { longestDelayMs, type Message, type Pgque } from "@pgque/client";
import { headerOptionsOf } from "@pgque/client/options";
import type { Stretch } from "../fetch/local-queue.ts";
import { Backoff } from "../connection/retry.ts";
import { answered } from "../connection/answer.ts";
import { RunContext } from "./context.ts";
import type { OpenBatch } from "../settle/open-batch.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { cancelledOutcome, doneOutcome, doneWith, releasedOutcome, outcomeOf, type Outcome } from "./outcome.ts";
import { failed } from "./retry-policy.ts";
import { Places } from "../transaction/places.ts";
import { RunTransaction } from "../transaction/transaction.ts";

/** How long a handler has to notice that its time is over. */
const graceMs = 1000;

/** What nearly every call comes to, made once. */
const oneDone: readonly Outcome[] = [doneOutcome];

/** One call of a handler: its context, its time limit, its transaction, and what came of it. */
export class HandlerRun {
  /** Whether its messages were acked in its transaction. */
  isAcked = false;
  /** When the handler was called, by `performance.now()`. */
  begunAtMs = performance.now();
  readonly #pgque: Pgque;
  readonly #queue: string;
  readonly #batch: OpenBatch;
  readonly #messages: readonly Message[];
  readonly #options: ResolvedOptions;
  readonly #context: RunContext;
  /** What its messages were given up to: whatever the handler comes to after that comes too late. */
  #givenUp: readonly Outcome[] | undefined;
  #transaction: RunTransaction | undefined;
  #isCutOff = false;
  #isCancelled = false;

  constructor(pgque: Pgque, queue: string, batch: OpenBatch, messages: readonly Message[], options: ResolvedOptions) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#batch = batch;
    this.#messages = messages;
    this.#options = options;
    this.#context = new RunContext(pgque, queue, batch, options.batch ? undefined : messages[0], options);
  }

  /** For how long its handler has run. */
  get runningMs(): number {
    return Math.round(performance.now() - this.begunAtMs);
  }

  /**
   * What became of each message, at once when the handler did not return a promise; otherwise `ended` is told, once. Promises for every message
   * would cost more than all else that is done with it. Never throws. `late` is called when the handler goes on after its time limit, and is to
   * give the call up.
   */
  run(
    handle: (context: RunContext) => unknown,
    late: (outcomes: readonly Outcome[]) => void,
    ended: (outcomes: readonly Outcome[]) => void,
  ): readonly Outcome[] | undefined {
    const { telemetry } = this.#pgque;
    const work = telemetry === undefined ? this.#plain(handle) : this.#traced(async () => this.#plain(handle));
    if (!(work instanceof Promise)) return work;
    const stopClock = this.#startClock(late);
    const end = (outcomes: readonly Outcome[]): void => {
      stopClock();
      ended(this.#unlessGivenUp(outcomes));
    };
    work.then(end, (error: unknown) => end(this.#failures(error)));
    return undefined;
  }

  /**
   * The same in a transaction, which commits with the ack when all is done. The wait for its connection is no part of the call: it uses neither an
   * attempt nor the time limit. `begun` is called when that is over. Undefined: `ending` was aborted before. Never rejects.
   */
  async runInTransaction(
    handle: (context: RunContext) => unknown,
    begun: () => void,
    late: (outcomes: readonly Outcome[]) => void,
    ending: AbortSignal,
  ): Promise<readonly Outcome[] | undefined> {
    const { watch } = this.#options;
    const leave = await watch.awaits("connection", Places.of(this.#pgque.pool).take(ending));
    if (leave === undefined) return undefined;
    const transaction = await watch.awaits("connection", this.#beginTransaction(ending));
    if (transaction === undefined) {
      leave();
      return undefined;
    }
    this.#transaction = transaction;
    this.#context.transaction = transaction.tx;
    this.begunAtMs = performance.now();
    begun();
    try {
      return await this.#traced(() => this.#handleInTransaction(handle, transaction, late));
    } catch (error) {
      return this.#failures(error);
    } finally {
      leave();
    }
  }

  /** From now on its messages have these outcomes, and its transaction does not commit. */
  giveUp(outcomes: readonly Outcome[]): void {
    this.#givenUp ??= outcomes;
    this.#transaction?.destroy(new Error("the call was given up, and its transaction with it"));
  }

  /** Aborts its signal because of the worker, not of the handler: what it throws after that uses no attempt. */
  cutOff(reason: Error): void {
    this.#isCutOff = true;
    this.#context.abort(reason);
  }

  /** Aborts its signal, because its message was cancelled: if it does not come to its end now, the message does not come again. */
  cancel(): void {
    this.#isCancelled = true;
    this.#context.abort(new DOMException("the message was cancelled", "AbortError"));
  }

  /** Whether its message is done, and has steps that need not be kept. */
  leavesSteps(outcome: Outcome | undefined): boolean {
    return outcome?.kind === "done" && this.#context.steps !== undefined;
  }

  #plain(handle: (context: RunContext) => unknown): readonly Outcome[] | Promise<readonly Outcome[]> {
    try {
      const value = handle(this.#context);
      return isThenable(value) ? Promise.resolve(value).then((said) => this.#read(said)) : this.#read(value);
    } catch (error) {
      return this.#failures(error);
    }
  }

  /** Tries until it has one that was begun; undefined: the signal was aborted. */
  async #beginTransaction(ending: AbortSignal): Promise<RunTransaction | undefined> {
    const { consumer, queryTimeoutMs, log } = this.#options;
    const onRefused = (error: Error): void => this.#context.log.error("a handler went on after its end", { error });
    const options = { pgque: this.#pgque, source: { queue: this.#queue, consumer }, queryTimeoutMs, onRefused };
    const backoff = new Backoff();
    while (!ending.aborted) {
      try {
        return await answered(queryTimeoutMs, (late) => RunTransaction.begin(options, AbortSignal.any([ending, late])));
      } catch (error) {
        if (ending.aborted) break;
        log.warn("no connection for a handler's transaction, will try again", { queue: this.#queue, error });
        await backoff.wait(ending);
      }
    }
    return undefined;
  }

  async #handleInTransaction(
    handle: (context: RunContext) => unknown,
    transaction: RunTransaction,
    late: (outcomes: readonly Outcome[]) => void,
  ): Promise<readonly Outcome[]> {
    const stopClock = this.#startClock(late);
    let outcomes: readonly Outcome[];
    try {
      outcomes = this.#read(await handle(this.#context));
    } catch (error) {
      transaction.takeBack();
      await transaction.rollback();
      throw error;
    } finally {
      stopClock();
      transaction.takeBack();
    }
    // somebody else may have done the work by now
    outcomes = this.#unlessGivenUp(outcomes);
    if (outcomes.some(({ kind }) => kind !== "done")) {
      await transaction.rollback();
      return outcomes;
    }
    try {
      await transaction.commit(
        this.#batch.id,
        this.#messages.map(({ id }, i) => ({ id, outcome: outcomes[i] ?? doneOutcome })),
      );
    } catch (error) {
      if (!transaction.isLost) throw error;
      const { log } = this.#options;
      log.warn("connection lost before the commit was answered, messages given back", { batch: this.#batch.id, error });
      return this.#unlessGivenUp(this.#messages.map(() => releasedOutcome));
    }
    this.isAcked = true;
    return outcomes;
  }

  #unlessGivenUp(outcomes: readonly Outcome[]): readonly Outcome[] {
    return this.#givenUp ?? outcomes;
  }

  /** A handler of batches says what became of each, any other of its one message. */
  #read(value: unknown): readonly Outcome[] {
    const { batch, clock } = this.#options;
    const asleep = this.#asleep;
    if (asleep !== undefined) return [asleep];
    const isOne = this.#messages.length === 1;
    if (value === undefined && isOne && doneWith(undefined, this.#messages[0]) === doneOutcome) return oneDone;
    return this.#messages.map((message, i) => {
      const said: unknown = batch && Array.isArray(value) ? value[i] : value;
      const outcome = outcomeOf(said, message, clock) ?? doneWith(undefined, message);
      return this.#isCancelled && outcome.kind !== "done" ? cancelledOutcome : outcome;
    });
  }

  /** Its handler sleeps: whatever it has come to, its message comes again later. */
  get #asleep(): Outcome | undefined {
    const until = this.#context.steps?.sleepsUntil;
    if (until === undefined || this.#isCancelled) return undefined;
    const afterMs = Math.max(0, until - this.#options.clock.now());
    return { kind: "snooze", afterMs: Math.min(longestDelayMs, Math.ceil(afterMs)) };
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
    const asleep = this.#asleep;
    if (asleep !== undefined) return this.#givenUp ?? [asleep];
    if (this.#isCancelled) {
      this.#context.log.info("handler ended, its message was cancelled", { error });
      return this.#givenUp ?? [cancelledOutcome];
    }
    if (this.#isCutOff)
      this.#options.log.info("handler cut off, its messages are given back", { batch: this.#batch.id, error });
    return (
      this.#givenUp ??
      this.#messages.map((message) => (this.#isCutOff ? releasedOutcome : failed(message, error, this.#options)))
    );
  }

  #startClock(late: (outcomes: readonly Outcome[]) => void): () => void {
    const { batch } = this.#options;
    const [message] = this.#messages;
    const own = batch || message === undefined ? {} : headerOptionsOf(message.headers);
    const { timeoutMs = this.#options.timeoutMs } = own;
    if (timeoutMs === Number.POSITIVE_INFINITY) return () => undefined;
    const sinceMs = performance.now() - this.begunAtMs;
    let timer = setTimeout(() => {
      const reason = new DOMException(`the handler took longer than its time limit of ${timeoutMs} ms`, "TimeoutError");
      this.#context.abort(reason);
      timer = setTimeout(() => late(this.#failures(reason)), graceMs);
    }, timeoutMs - sinceMs);
    return () => clearTimeout(timer);
  }
}

/** What a call handles, and what stands behind that in its sequence. */
export interface Handled extends Stretch {
  readonly behind: readonly Message[];
}

/** Calls that go on, whose handlers returned promises, in the order in which they began. */
export class RunningCalls extends Map<HandlerRun, Handled> {
  get oldest(): HandlerRun | undefined {
    const [oldest] = this.keys();
    return oldest;
  }

  /** Aborts their signals because of the worker. Of one batch, or of all. */
  cutOff(reason: Error, batch?: OpenBatch): void {
    for (const [call, handled] of this) if (batch === undefined || handled.batch === batch) call.cutOff(reason);
  }

  /** Tells the handlers of messages that were cancelled. What stands behind others and was cancelled is returned. */
  cancel(isCancelled: (message: Message) => boolean): Message[] {
    for (const [call, { messages }] of this) if (messages.some(isCancelled)) call.cancel();
    return Array.from(this.values()).flatMap(({ behind }) => behind.filter(isCancelled));
  }
}

/** What stands behind a call in its sequence. */
export function behindOf({ batch, messages, index, behind }: Handled): Stretch {
  return { batch, messages: behind, index: index + messages.length };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const mayBe = (typeof value === "object" && value !== null) || typeof value === "function";
  return mayBe && typeof (value as { then?: unknown }).then === "function";
}
