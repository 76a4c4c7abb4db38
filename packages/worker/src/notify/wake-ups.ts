import type { Queue } from "@pgque/client";
import type { ListenConnection } from "./listen-connection.ts";
import { channelOf, type Notifier, type Listener } from "./notifier.ts";
import { Notice } from "./notice.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import { pause } from "../connection/pause.ts";

/**
 * Tells a worker that there may be something to receive, on the notifier that it shares with the others. Where nothing can be heard the worker polls.
 *
 * Before it sleeps a worker raises the idle flag, asks whether somebody is just sending, and receives once more: see send/wake.sql. Postgres
 * counts how often a connection has raised a flag, so that two workers of one queue do not need to know of each other.
 */
export class WakeUps implements Listener {
  readonly queue: Queue;
  readonly options: ResolvedOptions;
  readonly #notifier: Notifier;
  readonly #notice = new Notice();
  /** The connection on which the flag is what `#flag` says; on another it is down. */
  #connection: ListenConnection | undefined;
  #flag: "down" | "up" | "quiet" = "down";
  #notifications = 0;

  constructor(notifier: Notifier, queue: Queue, options: ResolvedOptions, over: AbortSignal) {
    this.#notifier = notifier;
    this.queue = queue;
    this.options = options;
    over.addEventListener("abort", () => {
      notifier.leave(this);
      this.#notice.give();
    });
    notifier.join(this);
  }

  /** Nothing has changed since "quiet" was the answer: to ask again costs nothing. */
  get isQuiet(): boolean {
    return this.#flag === "quiet" && this.#connection === this.#notifier.connection;
  }

  /** How many notifications have come: whoever sleeps first compares it with what it was before the last receive. */
  get notifications(): number {
    return this.#notifications;
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
      if (this.#flag === "down") await connection.listen(channelOf(this.queue));
      if (this.#flag === "down" && (await connection.ask(({ runtime }) => runtime.raiseIdleFlag(this.queue))))
        this.#flag = "up";
      if (this.#flag === "up" && !(await connection.ask(({ runtime }) => runtime.hasOpenSenders(this.queue))))
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
      .ask(({ runtime }) => runtime.lowerIdleFlag(this.queue))
      .catch((error: unknown) => this.#failed(error));
  }

  /** Sleeps until a notification comes that is not counted in `since`, for so long, or until the signal is aborted. */
  async sleep(since: number, ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const notified = this.#notice.until(() => this.#notifications !== since || woken.signal.aborted);
    void notified.then(() => woken.abort());
    await pause(ms, AbortSignal.any([signal, woken.signal]));
    // the wait for a notification is over too
    woken.abort();
    this.#notice.give();
    await notified;
  }

  hears(isThere: boolean): void {
    this.options.watch.hears(isThere);
  }

  wake(): void {
    this.#notifications += 1;
    this.#notice.give();
  }

  /** The queue is gone, say, or the connection: the worker polls for the while. */
  #failed(error: unknown): void {
    this.options.log.debug("waking failed, the worker polls meanwhile", { queue: this.queue.name, error });
  }
}
