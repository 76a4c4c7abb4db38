import { EventEmitter, on } from "node:events";
import { PgqueError, type Message } from "@pgque/client";
import type { Outcome } from "../execute/outcome.ts";
import type { Logger } from "../log.ts";
import { workerEventNames, type WorkerEventName, type WorkerEvents, type WorkerListener } from "./worker-events.ts";

/** Calls listeners by name. The caller of `emit` goes on whatever they do; no data is made for names without a listener. */
export class Events {
  readonly #log: Logger;
  // as many listeners as the application likes
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Whether there is no listener at all. */
  get isSilent(): boolean {
    return this.#emitter.eventNames().length === 0;
  }

  /** @throws PgqueError INVALID_OPTION for an unknown name */
  on<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): void {
    requireEvent(name);
    this.#emitter.on(name, this.#guarded(name, listener));
  }

  /** @throws PgqueError INVALID_OPTION for an unknown name */
  once<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): void {
    requireEvent(name);
    const guarded = this.#guarded(name, (data: WorkerEvents[Name]) => {
      this.#emitter.off(name, guarded);
      return listener(data);
    });
    this.#emitter.on(name, Object.assign(guarded, { listener }));
  }

  /**
   * Removes a listener; of one that was added twice, the later.
   *
   * @throws PgqueError INVALID_OPTION for an unknown name
   */
  off<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): void {
    requireEvent(name);
    this.#emitter.off(name, listener);
  }

  /**
   * The events of a name from now on, until the worker has stopped.
   *
   * @throws PgqueError INVALID_OPTION for an unknown name
   */
  iterate<Name extends WorkerEventName>(name: Name, signal?: AbortSignal): AsyncIterableIterator<WorkerEvents[Name]> {
    requireEvent(name);
    const emitted = on(this.#emitter, name, { close: ["stopped"], ...(signal && { signal }) });
    const iterator: AsyncIterableIterator<WorkerEvents[Name]> = {
      next: async () => {
        const { done, value } = await emitted.next();
        return done ? { done, value: undefined } : { done: false, value: value[0] };
      },
      return: async () => {
        await emitted.return?.();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  /** `data` is called if there is a listener. */
  emit<Name extends WorkerEventName>(name: Name, data: () => WorkerEvents[Name]): void {
    if (this.#emitter.listenerCount(name) > 0) this.#emitter.emit(name, data());
  }

  /** The listener, whose failures are logged. It is removed by its own name: `off` compares `listener`, too. */
  #guarded<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): WorkerListener<Name> {
    const failed = (error: unknown): void => this.#log.error("a listener failed", { event: name, error });
    const guarded = (data: WorkerEvents[Name]): void => {
      try {
        const result = listener(data);
        // a promise has no other reader, and its rejection would end the process
        if (result !== undefined) Promise.resolve(result).catch(failed);
      } catch (error) {
        failed(error);
      }
    };
    return Object.assign(guarded, { listener });
  }
}

function requireEvent(name: unknown): void {
  if (Object.hasOwn(workerEventNames, String(name))) return;
  throw new PgqueError(
    "INVALID_OPTION",
    `expected an event of a worker, ${Object.keys(workerEventNames).join(", ")}, got: ${String(name)}`,
  );
}

/** Tells what became of a message. `begunAtMs`: when its handler was called, by `performance.now()`; undefined when it was not. */
export function report(events: Events, message: Message, outcome: Outcome, begunAtMs: number | undefined): void {
  if (events.isSilent) return;
  const durationMs = begunAtMs === undefined ? 0 : performance.now() - begunAtMs;
  switch (outcome.kind) {
    case "done":
      return events.emit("done", () => ({ message, durationMs }));
    case "snooze":
      return events.emit("snoozed", () => ({ message, afterMs: outcome.afterMs, durationMs }));
    case "cancel":
      return events.emit("cancelled", () => ({ message, durationMs }));
    case "release":
      return events.emit("released", () => ({ message }));
    case "retry":
      return events.emit("failed", () => ({ message, error: outcome.error, outcome, durationMs }));
    case "dead":
      events.emit("failed", () => ({ message, error: outcome.error, outcome, durationMs }));
      return events.emit("deadLettered", () => ({ message, reason: outcome.reason, error: outcome.error }));
  }
}
