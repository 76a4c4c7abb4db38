import type { Queue } from "@pgque/client";
import type { Ear } from "./ear.ts";
import { channelOf, type Line, type Listener } from "./line.ts";
import { Notice } from "./notice.ts";
import type { ResolvedOptions } from "./options.ts";
import { pause } from "./pause.ts";

/**
 * Tells a worker that there may be something to receive, on the line that it shares with the others. Where nothing can be heard the worker polls.
 *
 * Before it sleeps a worker raises the idle flag, asks whether somebody is just sending, and receives once more: see 33_wake.sql. Postgres
 * counts how often a connection has raised a flag, so that two workers of one queue do not need to know of each other.
 */
export class Waker implements Listener {
  readonly queue: Queue;
  readonly options: ResolvedOptions;
  readonly #line: Line;
  readonly #notice = new Notice();
  /** The connection on which the flag is what `#flag` says; on another it is down. */
  #ear: Ear | undefined;
  #flag: "down" | "up" | "quiet" = "down";
  #notifications = 0;

  constructor(line: Line, queue: Queue, options: ResolvedOptions, over: AbortSignal) {
    this.#line = line;
    this.queue = queue;
    this.options = options;
    over.addEventListener("abort", () => {
      line.leave(this);
      this.#notice.give();
    });
    line.join(this);
  }

  /** Nothing has changed since "quiet" was the answer: to ask again costs nothing. */
  get isQuiet(): boolean {
    return this.#flag === "quiet" && this.#ear === this.#line.ear;
  }

  /** How many notifications have come: whoever sleeps first compares it with what it was before the last receive. */
  get notifications(): number {
    return this.#notifications;
  }

  /**
   * Called when a receive found nothing, and again before each receive until it answers "quiet": then, if that receive finds nothing, the
   * worker may sleep, and every message from now on wakes it. "senders": somebody is just sending, ask again in a moment. "deaf": nobody
   * will wake the worker.
   */
  async quiet(): Promise<"quiet" | "senders" | "deaf"> {
    const ear = this.#line.ear;
    if (ear === undefined) return "deaf";
    if (this.#ear !== ear) [this.#ear, this.#flag] = [ear, "down"];
    try {
      if (this.#flag === "down") await ear.listen(channelOf(this.queue));
      if (this.#flag === "down" && (await ear.ask(({ runtime }) => runtime.raiseIdleFlag(this.queue))))
        this.#flag = "up";
      if (this.#flag === "up" && !(await ear.ask(({ runtime }) => runtime.hasOpenSenders(this.queue))))
        this.#flag = "quiet";
    } catch (error) {
      this.#failed(error);
      return "deaf";
    }
    if (this.#line.ear !== ear) return "deaf";
    return this.#flag === "quiet" ? "quiet" : "senders";
  }

  /** The worker is busy: nobody need wake it. */
  async busy(): Promise<void> {
    const ear = this.#ear;
    if (ear === undefined || ear.lost.aborted || this.#flag === "down") return;
    this.#flag = "down";
    await ear.ask(({ runtime }) => runtime.lowerIdleFlag(this.queue)).catch((error: unknown) => this.#failed(error));
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
