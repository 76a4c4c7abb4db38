import type { ResolvedOptions } from "../resolve-options.ts";
import { pause } from "../connection/pause.ts";
import type { Watch } from "../health/watch.ts";
import type { Alarm } from "../notify/alarm.ts";
import type { WakeUps } from "../notify/wake-ups.ts";

/**
 * Messages that come closer together than the first are received some at a time, and their senders need not wake anybody: until they come
 * further apart than the second, or none for as long as the third. To say so to senders takes a call, so that it should not change often.
 */
const [steadyMs, unsteadyMs, silentMs] = [3, 8, 25];
/** While messages come steadily a worker waits for as long as its last receive took, and for the next message, at most so long. */
const steadyPauseMaxMs = 5;
/** How fast what came before stops counting, for each message. */
const decay = 0.8;
/** Longest wait before the second look of a worker that has been woken. */
const lookMaxMs = 20;

type PollOptions = Pick<ResolvedOptions, "pollMinMs" | "pollMaxMs" | "fallbackPollMs">;

/** When a worker receives: at once while there is much, now and then while there is some, when it is woken while there is nothing. */
export class Polling {
  readonly #wakeUps: WakeUps | undefined;
  readonly #alarm: Alarm;
  readonly #options: PollOptions;
  readonly #waits: Watch["waits"];
  #isSteady = false;
  #idle = false;
  #mood: "awake" | "polling" | "senders" | "quiet" = "awake";
  /** Before the last receive, and how many of them were new. */
  #rings = 0;
  #notified = 0;
  #waitMs: number;
  #lookMs = 0;
  #isLook = false;
  #begunAtMs = 0;
  #receivedAtMs = Number.NEGATIVE_INFINITY;
  /** Between two messages, on average. */
  #gapMs = 2 * silentMs;

  /** Without wake-ups it polls. `waits`: told how, when there was nothing. */
  constructor(wakeUps: WakeUps | undefined, alarm: Alarm, options: PollOptions, waits: Watch["waits"]) {
    this.#wakeUps = wakeUps;
    this.#alarm = alarm;
    this.#waits = waits;
    this.#options = options;
    this.#waitMs = options.pollMinMs;
  }

  /** Before a receive: when it may be the last for a while, sees to it that what it does not find wakes the worker. */
  async prepare(): Promise<void> {
    const wakeUps = this.#wakeUps;
    // what comes while it is found out whether anything would come counts
    const { rings } = this.#alarm;
    this.#notified = rings - this.#rings;
    this.#rings = rings;
    if (wakeUps === undefined) this.#mood = "polling";
    else this.#mood = this.#idle || wakeUps.isQuiet ? await wakeUps.quiet() : "awake";
    this.#begunAtMs = performance.now();
  }

  /** After a receive, of as much as it asked for or less: waits until the next one is worth it. */
  async rest(received: number, isFull: boolean, signal: AbortSignal): Promise<void> {
    const tookMs = performance.now() - this.#begunAtMs;
    this.#measure(received);
    this.#idle = !isFull && !this.#isSteady;
    const isLook = this.#isLook && this.#notified === 0;
    this.#isLook = false;
    if (received > 0) this.#waitMs = this.#options.pollMinMs;
    if (!this.#idle) {
      await this.#wakeUps?.busy();
      const pauseMs = Math.max(tookMs, this.#gapMs);
      if (!isFull) await pause(Math.min(pauseMs, steadyPauseMaxMs), signal);
    } else if (this.#mood === "quiet") {
      if (isLook) this.#lookMs = received > 0 ? 0 : Math.min(2 * this.#lookMs + 1, lookMaxMs);
      // what came may be the rest of an older window, or of one lane: that says nothing about what was sent since, or to others
      if (received > 0) return this.#look(received, signal);
      this.#waits("listening");
      await this.#sleep(this.#options.fallbackPollMs, signal);
    } else if (this.#mood !== "awake") {
      if (this.#mood === "polling") this.#waits("polling");
      const ms = this.#waitMs;
      this.#waitMs = Math.min(2 * ms, this.#options.pollMaxMs);
      await this.#sleep(ms, signal);
    }
  }

  /** The worker stops: nobody need wake it. */
  async end(): Promise<void> {
    await this.#wakeUps?.busy();
  }

  /** Before the second look, for what nobody wakes it again. As long as such looks find nothing they can wait, and the next message may come before. */
  async #look(received: number, signal: AbortSignal): Promise<void> {
    this.#isLook = true;
    // fewer than were told of: there may be more
    if (received >= this.#notified && this.#lookMs > 0) await this.#sleep(this.#lookMs, signal);
  }

  #measure(received: number): void {
    const now = performance.now();
    const sinceMs = now - this.#receivedAtMs;
    if (received > 0) {
      const gapMs = Math.min(sinceMs / received, 2 * silentMs);
      this.#gapMs = gapMs + (this.#gapMs - gapMs) * decay ** received;
      this.#receivedAtMs = now;
    }
    const isOver = this.#gapMs > unsteadyMs || (received === 0 && sinceMs > silentMs);
    this.#isSteady = this.#mood !== "polling" && !isOver && (this.#isSteady || this.#gapMs < steadyMs);
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#alarm.sleep(this.#rings, ms, signal);
  }
}
