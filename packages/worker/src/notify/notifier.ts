import type { Pgque, Queue } from "@pgque/client";
import { Backoff } from "../connection/retry.ts";
import { warnOfHandler } from "../connection/beside-pool.ts";
import { ListenConnection } from "./listen-connection.ts";
import { shared } from "../log.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { pause } from "../connection/pause.ts";

/**
 * How long an answer on the connection that listens may take at most: it is asked for nothing that takes long, and while heartbeats name a
 * session that is over, messages are taken from a worker that lives.
 */
const answerMsMax = 5000;

/** Nothing was heard: behind a pooler nothing ever is, but it may have been a moment in which the network stood still. */
const deafMs = 60_000;

/** A worker that wants to be woken. */
export interface Listener {
  readonly queue: Queue;
  readonly options: Pick<ResolvedOptions, "queryTimeoutMs" | "log">;
  /** Something was sent to its queue, or the connection has come or gone: whoever sleeps has to think again. */
  wake(): void;
  /** Whether the connection is there; true also where nothing would be heard on it. */
  hears?(isThere: boolean): void;
}

/** A worker that is told which messages were cancelled while somebody had them. */
export interface CancelListener {
  readonly queue: Queue;
  readonly consumer: string;
  cancelled(ids: readonly string[]): void;
}

/** The channel that the senders of a queue notify. */
export const channelOf = (queue: Queue): string => `pgque_${queue.name}`;

/**
 * The connection on which the workers of a `Pgque` listen, all on the same. Opened for the first of them and closed after the last; one that
 * is lost is replaced. Where what is sent does not arrive, behind a transaction pooler say, it says so, the workers poll, and it tries again every
 * minute.
 */
export class Notifier {
  readonly #pgque: Pgque;
  readonly #onSession: () => void;
  readonly #deafMs: number;
  readonly #listeners = new Set<Listener>();
  readonly #cancelListeners = new Set<CancelListener>();
  readonly #log = shared(() => Array.from(this.#listeners, ({ options }) => options.log));
  #connection: ListenConnection | undefined;
  #isPolling = false;
  /** Of the time from the first listener to the last. */
  #over = new AbortController();

  /** `onSession`: the session that heartbeats are to name is another, or there is none. */
  constructor(pgque: Pgque, onSession: () => void, retryMs = deafMs) {
    this.#deafMs = retryMs;
    this.#pgque = pgque;
    this.#onSession = onSession;
  }

  /** Undefined: there is no connection just now, or nothing arrives on it. */
  get connection(): ListenConnection | undefined {
    return this.#connection?.lost.aborted === true ? undefined : this.#connection;
  }

  join(listener: Listener): void {
    this.#listeners.add(listener);
    if (this.#isPolling) this.#sayPolling(listener);
    listener.hears?.(this.#isPolling || this.connection !== undefined);
    if (this.#listeners.size > 1) return;
    this.#over = new AbortController();
    void this.#listen(this.#over.signal);
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener);
    const channel = channelOf(listener.queue);
    if (this.#listeners.size > 0) {
      if (!this.#of(channel).length) this.#connection?.unlisten(channel);
      return;
    }
    this.#isPolling = false;
    this.#connection = undefined;
    this.#over.abort();
  }

  /** Beside a listener that has joined: tells of cancelled messages until `over` is aborted. */
  joinCancelled(listener: CancelListener, over: AbortSignal): void {
    this.#cancelListeners.add(listener);
    over.addEventListener("abort", () => this.#cancelListeners.delete(listener));
    this.#listenTo(listener.queue);
  }

  /** Before a worker first sleeps: it is told of what was cancelled while it is busy, too. */
  #listenTo(queue: Queue): void {
    // a connection that is lost says so itself
    void this.connection?.listen(channelOf(queue)).catch(() => undefined);
  }

  #heard(channel: string, payload: string): void {
    const told = cancelledOf(payload);
    if (told === undefined) return this.#wake(this.#of(channel));
    for (const listener of this.#cancelListeners)
      if (channelOf(listener.queue) === channel && listener.consumer === told.consumer) listener.cancelled(told.ids);
  }

  /** Never rejects; ends with the last listener. */
  async #listen(over: AbortSignal): Promise<void> {
    const backoff = new Backoff();
    const events = {
      answerMs: () => this.#answerMs(),
      heard: (channel: string, payload: string) => this.#heard(channel, payload),
    };
    while (!over.aborted) {
      try {
        const connection = await ListenConnection.open(this.#pgque, events, over);
        if (over.aborted) return;
        backoff.reset();
        if (connection === undefined) {
          if (!this.#isPolling) for (const listener of this.#listeners) this.#sayPolling(listener);
          this.#isPolling = true;
          this.#tell();
          await pause(this.#deafMs, over);
          continue;
        }
        this.#isPolling = false;
        await this.#use(connection, over);
      } catch (error) {
        if (!warnOfHandler(this.#pgque, this.#log, error)) this.#say("listening failed, will try again", error);
      }
      await backoff.wait(over);
    }
  }

  /** Until it is lost. */
  async #use(connection: ListenConnection, over: AbortSignal): Promise<void> {
    if (connection.lost.aborted) return;
    this.#connection = connection;
    for (const { queue } of this.#cancelListeners) this.#listenTo(queue);
    this.#changed();
    const lose = (): void => connection.lose();
    over.addEventListener("abort", lose);
    await new Promise<void>((resolve) => connection.lost.addEventListener("abort", () => resolve()));
    over.removeEventListener("abort", lose);
    if (over.aborted) return;
    this.#connection = undefined;
    this.#say("connection that listens is lost", connection.lost.reason);
    this.#changed();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener.hears?.(this.#isPolling || this.connection !== undefined);
  }

  #changed(): void {
    this.#tell();
    this.#onSession();
    this.#wake(this.#listeners);
  }

  #wake(listeners: Iterable<Listener>): void {
    for (const listener of listeners) listener.wake();
  }

  #of(channel: string): Listener[] {
    return Array.from(this.#listeners).filter(({ queue }) => channelOf(queue) === channel);
  }

  #answerMs(): number {
    return Math.min(answerMsMax, ...Array.from(this.#listeners, ({ options }) => options.queryTimeoutMs));
  }

  #say(what: string, error: unknown): void {
    for (const { queue, options } of this.#listeners) options.log.debug(what, { queue: queue.name, error });
  }

  #sayPolling({ queue, options }: Listener): void {
    options.log.info("notifications do not arrive here, the worker polls", { queue: queue.name });
  }
}

/** What `cancel` notifies with, see cancel/cancel.sql; undefined: something was sent. */
function cancelledOf(payload: string): { consumer: string; ids: string[] } | undefined {
  if (!payload.startsWith("{")) return undefined;
  try {
    const { consumer, cancel } = JSON.parse(payload) as { consumer?: unknown; cancel?: unknown };
    return typeof consumer === "string" && Array.isArray(cancel) ? { consumer, ids: cancel.map(String) } : undefined;
  } catch {
    // anybody may notify
    return undefined;
  }
}
