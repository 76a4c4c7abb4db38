import { randomBytes } from "node:crypto";
import type { Client, PoolConfig } from "pg";
import { untilAborted } from "../connection/abortable.ts";
import { streamOf } from "../connection/borrowed.ts";
import { OwnClient } from "../connection/own-client.ts";

/** So long the connection stays without a call. */
const idleMs = 10_000;

/** How long until who waits looks by itself: longer each time, for behind a pooler nothing is heard; and seldom once something was. */
const firstPollMs = 20;
const lastPollMs = 1000;
const heardPollMs = 5000;

/** Tells calls of their results: a connection that listens, opened for the first and closed some time after the last. */
export class Replies {
  /** Names the channel. Drawn at random: who knows it may read the results of these calls. */
  readonly token = randomBytes(8).toString("hex");
  readonly #config: PoolConfig;
  readonly #waiting = new Map<string, () => void>();
  /** What was heard while a message was being sent whose id is not known yet. */
  readonly #early = new Set<string>();
  #sending = 0;
  #calls = 0;
  #connection: Promise<Client | undefined> | undefined;
  #hasHeard = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(config: PoolConfig) {
    this.#config = config;
  }

  /** Listens, where that can be done; then sends. Between this and `leave` the connection stays. */
  async join<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    clearTimeout(this.#idle);
    this.#calls += 1;
    this.#sending += 1;
    try {
      this.#connection ??= this.#open();
      await untilAborted(this.#connection, signal);
      return await send();
    } finally {
      // after who has sent has asked for what was heard
      setImmediate(() => this.#sent());
    }
  }

  leave(): void {
    this.#calls -= 1;
    if (this.#calls > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), idleMs);
    this.#idle.unref();
  }

  /** Waits until this message may have a result, for the n-th time, from 0; at most until the signal is aborted. */
  async next(id: string, consumer: string, n: number, signal: AbortSignal): Promise<void> {
    const key = keyOf(id, consumer);
    if (this.#early.delete(key) || signal.aborted) return;
    const pollMs = this.#hasHeard ? heardPollMs : Math.min(lastPollMs, firstPollMs * 2 ** n);
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, pollMs);
      signal.addEventListener("abort", wake);
      this.#waiting.set(key, wake);
    });
    this.#waiting.delete(key);
  }

  close(): void {
    clearTimeout(this.#idle);
    const connection = this.#connection;
    this.#lose();
    void connection?.then((client) => client?.end());
  }

  #sent(): void {
    this.#sending -= 1;
    if (this.#sending === 0) this.#early.clear();
  }

  /** Undefined: it cannot be had now, and calls look by themselves. */
  async #open(): Promise<Client | undefined> {
    const client = new OwnClient(this.#config);
    client.on("notification", ({ payload = "" }) => this.#heard(payload));
    client.on("end", () => this.#lose());
    try {
      await client.connect();
      await client.query(`listen "pgque_reply_${this.token}"`);
    } catch {
      this.#lose();
      await client.end().catch(() => undefined);
      return undefined;
    }
    // calls keep the process going, not this
    streamOf(client)?.unref();
    return client;
  }

  #lose(): void {
    this.#connection = undefined;
    this.#hasHeard = false;
    // they may have missed what was sent meanwhile
    for (const wake of this.#waiting.values()) wake();
  }

  #heard(payload: string): void {
    const key = keyFrom(payload);
    if (key === undefined) return;
    this.#hasHeard = true;
    const wake = this.#waiting.get(key);
    if (wake) wake();
    else if (this.#sending > 0) this.#early.add(key);
  }
}

const keyOf = (id: string, consumer: string): string => `${id} ${consumer}`;

/** Undefined: anybody may notify. */
function keyFrom(payload: string): string | undefined {
  try {
    const { id, consumer } = JSON.parse(payload) as { id?: unknown; consumer?: unknown };
    return typeof id === "string" && typeof consumer === "string" ? keyOf(id, consumer) : undefined;
  } catch {
    return undefined;
  }
}
