import type { Pgque, Queue } from "@pgque/client";
import { answered } from "../connection/answer.ts";
import { Backoff } from "../connection/retry.ts";
import { answersOf, type Watch } from "../health/watch.ts";
import { shared } from "../log.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { deadline, pause } from "../connection/pause.ts";

/** Where much is delayed something is due all the time; so long at least lies between two rounds, and so long when there is more to do. */
const shortestMs = 100;

/** A queue whose upkeep takes longer, behind a lock say, does not hold up the others. */
const patienceMs = 1000;

/** The longest pause between rounds: whatever ends sooner says so. */
const longestMs = 3_600_000;

/** A queue, and the workers for which it is maintained. */
interface Kept {
  readonly queue: Queue;
  readonly members: Set<ResolvedOptions>;
  readonly backoff: Backoff;
  /** Infinity while a call is under way. */
  nextAtMs: number;
  call: Promise<void>;
}

/**
 * Maintains the queues of all workers of a `Pgque` in turn, each at its interval, and delivers what is delayed when it becomes due, of
 * whatever queue. A round has parts, each a call of its own, so that none holds up or undoes another: what is due is delivered, then each
 * queue is maintained that does not rest, then what all queues share. Every process does; one at a time does the work.
 */
export class Maintainer {
  readonly #pgque: Pgque;
  readonly #kept = new Map<string, Kept>();
  readonly #log = shared(() => this.#members().map(({ log }) => log));
  /** Of the time from the first queue to the last. */
  #over = new AbortController();
  /** Ends the pause between rounds. */
  #awake = new AbortController();
  /** When a delayed message becomes due, or there is more to do; Infinity: none does soon, or it is being asked. */
  #dueAtMs = Number.POSITIVE_INFINITY;
  /** Calls that are no queue's and under way, by their part of the round. */
  readonly #asked = new Map<string, Promise<void>>();
  readonly #askBackoff = new Backoff();
  #hasMore = false;

  constructor(pgque: Pgque) {
    this.#pgque = pgque;
  }

  /** Until the signal is aborted; resolves when nothing is being done for the queue. */
  keep(queue: Queue, options: ResolvedOptions, stopping: AbortSignal): Promise<void> {
    const isFirst = this.#kept.size === 0;
    const kept = this.#kept.get(queue.name) ?? {
      queue,
      members: new Set(),
      backoff: new Backoff(),
      nextAtMs: 0,
      call: Promise.resolve(),
    };
    kept.members.add(options);
    this.#kept.set(queue.name, kept);
    this.#awake.abort();
    if (isFirst) {
      this.#over = new AbortController();
      void this.#loop(this.#over.signal);
    }
    return new Promise((resolve) => stopping.addEventListener("abort", () => resolve(this.#leave(kept, options))));
  }

  async #leave(kept: Kept, options: ResolvedOptions): Promise<void> {
    kept.members.delete(options);
    if (kept.members.size === 0) this.#kept.delete(kept.queue.name);
    if (this.#kept.size === 0) this.#over.abort();
    await Promise.all([kept.call, ...this.#asked.values()]);
  }

  /** Never rejects; ends with the last queue. */
  async #loop(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      this.#awake = new AbortController();
      await this.#round(over);
      const nextAtMs = Math.min(this.#dueAtMs, ...Array.from(this.#kept.values(), (kept) => kept.nextAtMs));
      const ms = Math.min(Math.max(nextAtMs - performance.now(), shortestMs / 2), longestMs);
      await pause(ms, AbortSignal.any([over, this.#awake.signal]));
    }
  }

  async #round(over: AbortSignal): Promise<void> {
    const startedMs = performance.now();
    const due = this.#due(startedMs);
    if (due.length === 0 && this.#dueAtMs > startedMs) return;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#hasMore = false;
    await this.#ask("deliver", (signal) => this.#deliver(signal));
    if (due.length > 0) await this.#maintainDue(due, startedMs, over);
    if (over.aborted) return;
    if (this.#hasMore) this.#dueAtMs = performance.now() + shortestMs;
    else await this.#ask("next", (signal) => this.#askWhenDue(signal));
  }

  async #maintainDue(due: Kept[], startedMs: number, over: AbortSignal): Promise<void> {
    let atWork: ReadonlySet<string> | undefined;
    await this.#ask("queues", async (signal) => {
      const queues = due.map(({ queue }) => queue);
      atWork = await this.#pgque.runtime.queuesToMaintain(queues, { signal });
    });
    for (const kept of due) {
      if (over.aborted) return;
      if (kept.members.size > 0) await this.#patiently(this.#maintain(kept, startedMs, atWork));
    }
    if (!over.aborted) await this.#ask("shared", (signal) => this.#maintainShared(signal));
  }

  /** The queues whose turn it is. What would come soon after goes with them, so that rounds do not multiply with queues. */
  #due(nowMs: number): Kept[] {
    const free = Array.from(this.#kept.values()).filter(({ nextAtMs }) => nextAtMs !== Number.POSITIVE_INFINITY);
    if (free.every(({ nextAtMs }) => nextAtMs > nowMs)) return [];
    return free
      .filter((kept) => kept.nextAtMs <= nowMs + intervalMs(kept) / 2)
      .toSorted((one, other) => one.nextAtMs - other.nextAtMs);
  }

  async #patiently(call: Promise<void>): Promise<void> {
    if (!(await deadline(patienceMs).reached(call))) void call.then(() => this.#awake.abort());
  }

  #maintain(kept: Kept, startedMs: number, atWork: ReadonlySet<string> | undefined): Promise<void> {
    kept.nextAtMs = Number.POSITIVE_INFINITY;
    kept.call = this.#maintainOne(kept, startedMs, atWork);
    return kept.call;
  }

  /** The next time counts from the start of the round, so that queues stay together. Never rejects. */
  async #maintainOne(kept: Kept, startedMs: number, atWork: ReadonlySet<string> | undefined): Promise<void> {
    const { queue, members, backoff } = kept;
    try {
      const rests = atWork !== undefined && !atWork.has(queue.name);
      const call = (signal: AbortSignal): Promise<number> => this.#pgque.runtime.maintainQueue(queue, { signal });
      const done = rests ? 0 : await answered(queryTimeoutMs(members), call);
      backoff.reset();
      answersOf(() => watches(members)).answered("maintenance");
      kept.nextAtMs = startedMs + (done > 0 ? shortestMs : intervalMs(kept));
    } catch (error) {
      kept.nextAtMs = performance.now() + backoff.nextMs();
      const log = shared(() => Array.from(members, (options) => options.log));
      log.error("maintenance failed, will try again", { queue: queue.name, error });
      answersOf(() => watches(members)).failed("maintenance", error);
    }
  }

  /** A part that is no queue's. One that is still under way is not begun again. Never rejects. */
  async #ask(part: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    // the last queue may have left meanwhile
    if (this.#asked.has(part) || this.#kept.size === 0) return;
    const call = this.#askOnce(work).finally(() => this.#asked.delete(part));
    this.#asked.set(part, call);
    await this.#patiently(call);
  }

  async #askOnce(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await answered(queryTimeoutMs(this.#members()), work);
      this.#askBackoff.reset();
    } catch (error) {
      this.#dueAtMs = performance.now() + this.#askBackoff.nextMs();
      this.#log.error("maintenance of what queues share failed, will try again", { error });
    }
  }

  async #deliver(signal: AbortSignal): Promise<void> {
    this.#hasMore = (await this.#pgque.runtime.deliverDue({ signal })) > 0;
  }

  async #maintainShared(signal: AbortSignal): Promise<void> {
    if ((await this.#pgque.runtime.maintainShared({ signal })) > 0) this.#hasMore = true;
  }

  async #askWhenDue(signal: AbortSignal): Promise<void> {
    const dueInMs = await this.#pgque.runtime.nextDueInMs({ signal });
    if (dueInMs !== null) this.#dueAtMs = performance.now() + Math.max(dueInMs, shortestMs);
  }

  #members(): ResolvedOptions[] {
    return Array.from(this.#kept.values(), ({ members }) => [...members]).flat();
  }
}

function watches(members: Iterable<ResolvedOptions>): Watch[] {
  return Array.from(members, ({ watch }) => watch);
}

function intervalMs({ members }: Kept): number {
  return Math.min(...Array.from(members, ({ maintainIntervalMs }) => maintainIntervalMs));
}

function queryTimeoutMs(members: Iterable<ResolvedOptions>): number {
  return Math.min(...Array.from(members, (options) => options.queryTimeoutMs));
}
