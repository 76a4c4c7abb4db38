import type { ResolvedOptions } from "../resolve-options.ts";
import { pause } from "../connection/pause.ts";
import type { WakeUps } from "../notify/wake-ups.ts";

/** Messages that come closer together than this are received some at a time, and their senders need not wake anybody. */
const steadyMs = 10;
const steadyPauseMs = 5;

/** When a worker receives: at once while there is much, now and then while there is some, when it is woken while there is nothing. */
export class Polling {
  readonly #wakeUps: WakeUps | undefined;
  readonly #options: ResolvedOptions;
  #idle = false;
  #mood: "awake" | "polling" | "senders" | "quiet" = "awake";
  #notifications = 0;
  #waitMs: number;
  #receivedAtMs = Number.NEGATIVE_INFINITY;

  /** Without wake-ups it polls. */
  constructor(wakeUps: WakeUps | undefined, options: ResolvedOptions) {
    this.#wakeUps = wakeUps;
    this.#options = options;
    this.#waitMs = options.pollMinMs;
  }

  /** Before a receive: when it may be the last for a while, sees to it that what it does not find wakes the worker. */
  async prepare(): Promise<void> {
    const wakeUps = this.#wakeUps;
    // what comes while it is found out whether anything would come counts
    this.#notifications = wakeUps?.notifications ?? 0;
    if (wakeUps === undefined) this.#mood = "polling";
    else this.#mood = this.#idle || wakeUps.isQuiet ? await wakeUps.quiet() : "awake";
  }

  /** After a receive, of as much as it asked for or less: waits until the next one is worth it. */
  async rest(received: number, isFull: boolean, signal: AbortSignal): Promise<void> {
    const isSteady = this.#isSteady(received);
    this.#idle = !isFull && !isSteady;
    if (received > 0) this.#waitMs = this.#options.pollMinMs;
    if (!this.#idle) {
      await this.#wakeUps?.busy();
      if (!isFull) await pause(steadyPauseMs, signal);
    } else if (this.#mood === "quiet") {
      // what came may be the rest of an older window, or of one lane: that says nothing about what was sent since, or to others
      if (received > 0) return;
      this.#options.watch.waits("listening");
      await this.#sleep(this.#options.fallbackPollMs, signal);
    } else if (this.#mood !== "awake") {
      if (this.#mood === "polling") this.#options.watch.waits("polling");
      const ms = this.#waitMs;
      this.#waitMs = Math.min(2 * ms, this.#options.pollMaxMs);
      await this.#sleep(ms, signal);
    }
  }

  /** The worker stops: nobody need wake it. */
  async end(): Promise<void> {
    await this.#wakeUps?.busy();
  }

  #isSteady(received: number): boolean {
    if (received === 0) return false;
    const [before, now] = [this.#receivedAtMs, performance.now()];
    this.#receivedAtMs = now;
    return this.#mood !== "polling" && now - before < steadyMs;
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#wakeUps ? this.#wakeUps.sleep(this.#notifications, ms, signal) : pause(ms, signal);
  }
}
