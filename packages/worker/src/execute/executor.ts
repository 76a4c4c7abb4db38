import type { Batch, Message, Pgque } from "@pgque/client";
import { behindOf, HandlerRun, RunningCalls } from "./handler-run.ts";
import { report } from "../events/events.ts";
import type { HandlerContext } from "./handler.ts";
import type { Load } from "../health/health.ts";
import { Notice } from "../notify/notice.ts";
import type { OpenBatch } from "../settle/open-batch.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { cancelledOutcome, doneOutcome, releasedOutcome, type Outcome } from "./outcome.ts";
import { quarantine } from "./quarantine.ts";
import type { Route } from "./route.ts";
import type { Settler } from "../settle/settler.ts";
import { handleSuspect, isSuspect } from "./suspect.ts";
import { EventLoopBudget } from "./event-loop-budget.ts";
import { type Stretch, LocalQueue, type Work } from "../fetch/local-queue.ts";

/** Runs handlers, so many at once, and hands their outcomes to the settler. */
export class Executor {
  readonly #pgque: Pgque;
  readonly #queue: string;
  readonly #route: Route;
  readonly #options: ResolvedOptions;
  readonly #settler: Settler;
  readonly #progress: Notice;
  readonly #localQueue: LocalQueue;
  readonly #budget = new EventLoopBudget(() => this.#begin());
  readonly #running = new RunningCalls();
  /** The call whose handler has not returned yet. */
  #begun: HandlerRun | undefined;
  /** How much of what waited is begun and not done. */
  #busy = 0;
  #held = 0;
  #heldBytes = 0;
  /** Messages in hand that were cancelled, and whose handler has not begun. */
  readonly #cancelled = new Set<string>();
  /** Aborted: nothing more is begun. */
  readonly #ending = new AbortController();
  readonly #opened = new Notice();
  /** Transactional calls that wait for their connection. */
  #connecting = 0;

  constructor(pgque: Pgque, queue: string, route: Route, options: ResolvedOptions, settler: Settler, progress: Notice) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#route = route;
    this.#localQueue = new LocalQueue(route.unit);
    this.#options = options;
    this.#settler = settler;
    this.#progress = progress;
    quarantine.join(this);
    settler.onLost = (batch) => this.#lose(batch);
  }

  /** Messages waiting or being handled. */
  get held(): number {
    return this.#held;
  }

  /** What their payloads take, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Handlers that run. */
  get running(): number {
    return this.#running.size + (this.#begun === undefined ? 0 : 1);
  }

  /** These, and those that are about to. */
  get active(): number {
    return this.running + this.#connecting;
  }

  get oldestRunningMs(): number | null {
    return (this.#running.oldest ?? this.#begun)?.runningMs ?? null;
  }

  /** What is in hand just now. */
  get load(): Pick<Load, "running" | "oldestRunningMs" | "held"> {
    return { running: this.running, oldestRunningMs: this.oldestRunningMs, held: this.#held };
  }

  /**
   * Whether more can be received: half of the prefetch is free, or a handler could run. To fill each place as it becomes free would mean
   * batches of one. Whole batches wait for a handler one at a time.
   */
  get hasRoom(): boolean {
    const { concurrency, prefetch, prefetchBytes } = this.#options;
    const isIdle = this.#localQueue.batches === 0 && this.#busy < concurrency;
    if (this.#heldBytes > (isIdle ? prefetchBytes - 1 : prefetchBytes / 2)) return false;
    if (this.#route.unit !== "message") return this.#busy + this.#localQueue.batches <= concurrency;
    return this.#held <= Math.max(Math.floor(prefetch / 2), concurrency - 1);
  }

  /** Takes over a batch that was received. */
  take(
    batch: OpenBatch,
    { messages, payloadBytes, invalid }: Pick<Batch, "messages" | "payloadBytes" | "invalid">,
  ): void {
    this.#settler.add(batch);
    for (const [i, { message, error }] of invalid.entries()) {
      const work = { batch, messages: [message], index: messages.length + i };
      this.#record(work, this.#route.outcomeOfInvalid(message, error));
    }
    const bytes = payloadBytes.reduce((sum, of) => sum + of, 0);
    this.#held += messages.length;
    this.#heldBytes += bytes;
    this.#localQueue.add({ batch, messages, index: 0, bytes }, payloadBytes);
    if (this.#isEnding) this.#releaseWaiting();
    else this.#begin();
  }

  /** From now on what has not been begun is given back. */
  beginNoMore(): void {
    this.#ending.abort();
    this.#releaseWaiting();
    this.#opened.give();
  }

  /** The quarantine is over. */
  goOn(): void {
    this.#opened.give();
    this.#begin();
  }

  /** It begins nothing any more, and nothing of it is waited for. */
  leave(): void {
    quarantine.leave(this);
  }

  get #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Resolves when no handler runs. */
  drained(): Promise<void> {
    return this.#progress.until(() => this.#busy === 0);
  }

  /** Of these messages those that are in hand: a handler that runs is told, one that has not begun is not called. Batches have one handler for many. */
  cancel(ids: readonly string[]): void {
    if (this.#options.batch) return;
    const isWanted = ({ id }: Message): boolean => ids.includes(id);
    const waiting = [...this.#running.cancel(isWanted), ...this.#localQueue.waiting().filter(isWanted)];
    for (const { id } of waiting) this.#cancelled.add(id);
  }

  abort(): void {
    const reason = new DOMException("the worker is stopping, and this handler was not done in time", "AbortError");
    this.#running.cutOff(reason);
  }

  /** Gives back what is still being handled: whatever the handler comes to, it comes too late. */
  giveUp(): void {
    for (const [call, handled] of this.#running) {
      call.giveUp(handled.messages.map(() => releasedOutcome));
      this.#record(handled, releasedOutcome, call);
      this.#record(behindOf(handled), releasedOutcome);
    }
  }

  #begin(): void {
    while (this.#canBegin) {
      const work = this.#localQueue.take();
      if (work === undefined) return;
      if (work.batch.isLost) {
        this.#letGo(work);
        this.#record(work, releasedOutcome);
        continue;
      }
      this.#busy += 1;
      const [first] = work.messages;
      if (this.#route.unit !== "sequence" && first !== undefined && isSuspect(first))
        void this.#callSuspect(work, first, []).then(() => this.#beginNext(work));
      else if (this.#route.unit === "sequence") void this.#runSequence(work).then(() => this.#beginNext(work));
      else if (this.#call(work, [], () => this.#beginNext(work)) !== undefined) this.#done(work);
    }
  }

  get #canBegin(): boolean {
    if (this.#busy >= this.#options.concurrency || this.#localQueue.batches === 0) return false;
    return !quarantine.isClosed && !this.#budget.isOver;
  }

  #beginNext(work: Work): void {
    this.#done(work);
    this.#begin();
  }

  #done(work: Work): void {
    this.#busy -= 1;
    this.#letGo(work);
    this.#progress.give();
  }

  /** Never rejects. */
  async #runSequence({ batch, messages, index }: Stretch): Promise<void> {
    for (const [i, message] of messages.entries()) {
      const behind = messages.slice(i + 1);
      const work = { batch, messages: [message], index: index + i };
      while (quarantine.isClosed && !this.#isEnding && !isSuspect(message)) await this.#opened.next();
      if (this.#isEnding || batch.isLost) {
        this.#record({ batch, messages: messages.slice(i), index: index + i }, releasedOutcome);
        return;
      }
      const outcome = isSuspect(message)
        ? await this.#callSuspect(work, message, behind)
        : await this.#called(work, behind);
      if (this.#budget.isOver) await this.#budget.next();
      const waits = outcome?.kind === "retry" || outcome?.kind === "snooze";
      // given up meanwhile, with all that stood behind it
      if (batch.isComplete) return;
      // what stands behind one that is tried again, or was given back, waits for it, and comes again with it
      if (outcome?.kind === "release" || (waits && this.#route.stopsAtFailure)) {
        this.#record({ batch, messages: behind, index: index + i + 1 }, releasedOutcome);
        return;
      }
    }
  }

  /** Undefined: it was not called and is released. Never rejects. */
  #callSuspect(work: Stretch, message: Message, behind: readonly Message[]): Promise<Outcome | undefined> {
    const call = (): Promise<Outcome | undefined> => this.#called(work, behind);
    return handleSuspect(this.#settler, work.batch, message, this.#ending.signal, call).finally(() =>
      // has no effect on one that was called
      this.#record(work, releasedOutcome),
    );
  }

  #called(work: Stretch, behind: readonly Message[]): Promise<Outcome | undefined> {
    return new Promise((resolve) => {
      const known = this.#call(work, behind, resolve);
      if (known !== undefined) resolve(known);
    });
  }

  /** One call of a handler; the outcome of its first message, when it is known at once. Otherwise `ended` is told. Never throws. */
  #call(work: Stretch, behind: readonly Message[], ended: (outcome: Outcome | undefined) => void): Outcome | undefined {
    const { batch, messages } = work;
    if (messages.some(({ id }) => this.#cancelled.has(id))) {
      this.#record(work, cancelledOutcome);
      return cancelledOutcome;
    }
    const call = new HandlerRun(this.#pgque, this.#queue, batch, messages, this.#options);
    const handle = (context: HandlerContext): unknown => this.#route.handle(messages, context);
    const handled = { ...work, behind };
    const begun = (): void => this.#options.watch.events.emit("handlerStarted", () => ({ messages }));
    const late = (outcomes: readonly Outcome[]): void => {
      call.giveUp(outcomes);
      this.#recordEach(work, outcomes, call);
      // they wait for nobody whose handler may never return
      this.#record(behindOf(handled), releasedOutcome);
    };
    const end = (outcomes: readonly Outcome[]): void => {
      this.#running.delete(call);
      quarantine.ended();
      ended(this.#ended(call, work, outcomes));
    };
    if (this.#options.transactional) {
      this.#connecting += 1;
      let isConnecting = true;
      const connected = (): void => {
        if (isConnecting) this.#connecting -= 1;
        isConnecting = false;
      };
      const onBegun = (): void => {
        connected();
        this.#running.set(call, handled);
        begun();
      };
      void call.runInTransaction(handle, onBegun, late, this.#ending.signal).then((outcomes) => {
        connected();
        if (outcomes !== undefined) return end(outcomes);
        quarantine.ended();
        this.#record(work, releasedOutcome);
        return ended(releasedOutcome);
      });
      return undefined;
    }
    this.#begun = call;
    begun();
    const known = call.run(handle, late, end);
    this.#begun = undefined;
    if (known === undefined) this.#running.set(call, handled);
    return known && this.#ended(call, work, known);
  }

  #ended(call: HandlerRun, work: Stretch, outcomes: readonly Outcome[]): Outcome | undefined {
    const { batch, messages } = work;
    const { events } = this.#options.watch;
    if (call.leavesSteps(outcomes[0])) batch.withSteps.push(...messages.map(({ id }) => id));
    this.#recordEach(work, outcomes, call);
    events.emit("handlerFinished", () => ({ messages, durationMs: performance.now() - call.begunAtMs }));
    if (call.isAcked) this.#settler.acked(batch, messages);
    return outcomes[0];
  }

  /** `call`: of the handler, if there was one. */
  #record({ batch, messages, index }: Stretch, outcome: Outcome, call?: HandlerRun): void {
    for (const [i, message] of messages.entries()) this.#recordOne(batch, index + i, message, outcome, call);
  }

  #recordEach({ batch, messages, index }: Stretch, outcomes: readonly Outcome[], call: HandlerRun): void {
    for (const [i, message] of messages.entries())
      this.#recordOne(batch, index + i, message, outcomes[i] ?? doneOutcome, call);
  }

  /** What was said of a message before stands. */
  #recordOne(batch: OpenBatch, index: number, message: Message, outcome: Outcome, call?: HandlerRun): void {
    const { attempts, watch } = this.#options;
    if (this.#settler.record(batch, index, message.id, outcome))
      report(watch.events, message, attempts.foreseen(message, outcome), call?.begunAtMs);
  }

  /** What is in hand of a lost batch is somebody else's: the handlers are told, and what has not begun does not. */
  #lose(batch: OpenBatch): void {
    const reason = new DOMException("the lease of the message is over, another worker may handle it", "AbortError");
    this.#running.cutOff(reason, batch);
  }

  #releaseWaiting(): void {
    for (const work of this.#localQueue.takeAll()) {
      this.#letGo(work);
      this.#record(work, releasedOutcome);
    }
  }

  #letGo({ messages, bytes }: Work): void {
    this.#held -= messages.length;
    this.#heldBytes -= bytes;
    if (this.#held === 0) this.#cancelled.clear();
  }
}
