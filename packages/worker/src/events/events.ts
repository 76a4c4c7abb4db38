import type { Logger } from "../log.ts";
import type { WorkerEventName, WorkerEvents, WorkerListener } from "./worker-events.ts";

type AnyListener = (data: never) => unknown;

/** Tells listeners by name. Whatever they do, who tells goes on; nothing is made for names that nobody listens to. */
export class Events {
  readonly #log: Logger;
  readonly #listeners = new Map<WorkerEventName, readonly AnyListener[]>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Whether nobody listens to anything. */
  get isSilent(): boolean {
    return this.#listeners.size === 0;
  }

  on<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): void {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
  }

  /** The listener once added, if it was added twice. */
  off<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>): void {
    const listeners = this.#listeners.get(name) ?? [];
    const index = listeners.lastIndexOf(listener);
    if (index < 0) return;
    if (listeners.length === 1) this.#listeners.delete(name);
    else this.#listeners.set(name, listeners.toSpliced(index, 1));
  }

  /** `data` is called when somebody listens. Those that are added or removed meanwhile count from the next time on. */
  emit<Name extends WorkerEventName>(name: Name, data: () => WorkerEvents[Name]): void {
    const listeners = this.#listeners.get(name) as readonly WorkerListener<Name>[] | undefined;
    if (listeners === undefined) return;
    const told = data();
    for (const listener of listeners) this.#tell(name, listener, told);
  }

  #tell<Name extends WorkerEventName>(name: Name, listener: WorkerListener<Name>, data: WorkerEvents[Name]): void {
    const failed = (error: unknown): void => this.#log.error("a listener failed", { event: name, error });
    try {
      const result = listener(data);
      // nobody waits for it, and nobody else would hear of its failure
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
