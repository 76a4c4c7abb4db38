import type { ListenConnection } from "./listen-connection.ts";
import { channelOf, type Notifier, type Listener } from "./notifier.ts";

/** Workers that are woken together. */
export interface Woken extends Listener {
  /** Ends with its last worker. */
  readonly over: AbortSignal;
}

/**
 * Has workers be woken when there may be something to receive, on the notifier that they share with others. Where nothing can be heard they poll.
 *
 * Before workers sleep they raise the idle flag, ask whether somebody is just sending, and receive once more: see send/wake.sql. Postgres
 * counts how often a connection has raised a flag, so that workers of one queue that sleep apart do not need to know of each other.
 */
export class WakeUps {
  readonly #notifier: Notifier;
  readonly #woken: Woken;
  /** The connection on which the flag is what `#flag` says; on another it is down. */
  #connection: ListenConnection | undefined;
  #flag: "down" | "up" | "quiet" = "down";

  constructor(notifier: Notifier, woken: Woken) {
    this.#notifier = notifier;
    this.#woken = woken;
    woken.over.addEventListener("abort", () => notifier.leave(woken));
    notifier.join(woken);
  }

  /** Nothing has changed since "quiet" was the answer: to ask again costs nothing. */
  get isQuiet(): boolean {
    return this.#flag === "quiet" && this.#connection === this.#notifier.connection;
  }

  /**
   * Called when a receive found nothing, and again before each receive until it answers "quiet": then, if that receive finds nothing, the
   * worker may sleep, and every message from now on wakes it. "senders": somebody is just sending, ask again in a moment. "polling": nobody
   * will wake the worker.
   */
  async quiet(): Promise<"quiet" | "senders" | "polling"> {
    const connection = this.#notifier.connection;
    if (connection === undefined) return "polling";
    if (this.#connection !== connection) [this.#connection, this.#flag] = [connection, "down"];
    try {
      if (this.#flag === "down") await connection.listen(channelOf(this.#woken.queue));
      if (this.#flag === "down" && (await connection.ask(({ runtime }) => runtime.raiseIdleFlag(this.#woken.queue))))
        this.#flag = "up";
      if (this.#flag === "up" && !(await connection.ask(({ runtime }) => runtime.hasOpenSenders(this.#woken.queue))))
        this.#flag = "quiet";
    } catch (error) {
      this.#failed(error);
      return "polling";
    }
    if (this.#notifier.connection !== connection) return "polling";
    return this.#flag === "quiet" ? "quiet" : "senders";
  }

  /** The worker is busy: nobody need wake it. */
  async busy(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined || connection.lost.aborted || this.#flag === "down") return;
    this.#flag = "down";
    await connection
      .ask(({ runtime }) => runtime.lowerIdleFlag(this.#woken.queue))
      .catch((error: unknown) => this.#failed(error));
  }

  /** The queue is gone, say, or the connection: the worker polls for the while. */
  #failed(error: unknown): void {
    const { options, queue } = this.#woken;
    options.log.debug("waking failed, the worker polls meanwhile", { queue: queue.name, error });
  }
}
