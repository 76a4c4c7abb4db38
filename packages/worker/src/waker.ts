import { randomBytes } from "node:crypto";
import type { Operations, Pgque, Queue } from "@pgque/client";
import { Client, type Notification } from "pg";
import { Backoff } from "./backoff.ts";
import type { Logger } from "./log.ts";
import { Notice } from "./notice.ts";
import { deadline, pause } from "./pause.ts";

/** How long a notification that is sent to find out may take. */
const probeMs = 2000;

/** A connection that listens, and on which the idle flag is raised. */
interface Ear {
  client: Client;
  operations: Operations;
  /** Held for as long as the connection lasts; undefined when it could not be. */
  session: string | undefined;
}

/**
 * Tells a worker that there may be something to receive. Listens on a connection of its own; where that does not work, behind a
 * transaction pooler say, it says so and the worker polls.
 *
 * Before it sleeps a worker raises the idle flag, asks whether somebody is just sending, and receives once more: see 33_wake.sql.
 */
export class Waker {
  readonly #pgque: Pgque;
  readonly #queue: Queue;
  readonly #worker: string;
  readonly #log: Logger;
  readonly #over: AbortSignal;
  readonly #onSession: () => void;
  readonly #notice = new Notice();
  #ear: Ear | undefined;
  #flag: "down" | "up" | "quiet" = "down";
  #notifications = 0;

  constructor(pgque: Pgque, queue: Queue, worker: string, log: Logger, over: AbortSignal, onSession: () => void) {
    this.#pgque = pgque;
    this.#queue = queue;
    this.#worker = worker;
    this.#log = log;
    this.#over = over;
    this.#onSession = onSession;
    over.addEventListener("abort", () => {
      if (this.#ear) this.#lost(this.#ear);
      this.#notice.give();
    });
    void this.#listen();
  }

  /** The session that is held on the connection; see `holdSession`. */
  get session(): string | undefined {
    return this.#ear?.session;
  }

  /** Nothing has changed since "quiet" was the answer: to ask again costs nothing. */
  get isQuiet(): boolean {
    return this.#flag === "quiet";
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
    const ear = this.#ear;
    if (ear === undefined) return "deaf";
    try {
      if (this.#flag === "down" && (await ear.operations.raiseIdleFlag(this.#queue))) this.#flag = "up";
      if (this.#flag === "up" && !(await ear.operations.hasOpenSenders(this.#queue))) this.#flag = "quiet";
    } catch (error) {
      this.#lost(ear, error);
    }
    if (this.#ear === undefined) return "deaf";
    return this.#flag === "quiet" ? "quiet" : "senders";
  }

  /** The worker is busy: nobody need wake it. */
  async busy(): Promise<void> {
    const ear = this.#ear;
    if (ear === undefined || this.#flag === "down") return;
    this.#flag = "down";
    try {
      await ear.operations.lowerIdleFlag(this.#queue);
    } catch (error) {
      this.#lost(ear, error);
    }
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

  /** Never rejects; ends with the worker. */
  async #listen(): Promise<void> {
    const backoff = new Backoff();
    while (!this.#over.aborted) {
      try {
        if (!(await this.#connect())) {
          this.#log.info("notifications do not arrive here, the worker polls", { queue: this.#queue.name });
          return;
        }
        backoff.reset();
        await this.#notice.until(() => this.#ear === undefined || this.#over.aborted);
      } catch (error) {
        this.#log.debug("listening failed, will try again", { queue: this.#queue.name, error });
      }
      if (!this.#over.aborted) await backoff.wait(this.#over);
    }
  }

  /** False: it connects, but what is sent does not arrive. */
  async #connect(): Promise<boolean> {
    const client = new Client(this.#pgque.pool.options);
    const ear: Ear = { client, operations: this.#pgque.on(client), session: undefined };
    const probe = `pgque_probe_${randomBytes(8).toString("hex")}`;
    let heard = false;
    client.on("error", (error) => this.#lost(ear, error));
    client.on("end", () => this.#lost(ear));
    client.on("notification", ({ channel }: Notification) => {
      heard ||= channel === probe;
      this.#wake();
    });
    try {
      await client.connect();
      await client.query(`listen ${client.escapeIdentifier(`pgque_${this.#queue.name}`)}; listen ${probe}`);
      // from another connection: a pooler hands a notification to whoever has the server connection just then
      await this.#pgque.pool.query("select pg_notify($1, '')", [probe]);
      await deadline(probeMs).reached(this.#notice.until(() => heard || this.#over.aborted));
      if (heard) await client.query(`unlisten ${probe}`);
      // of a new name: the server may not have noticed yet that the connection before this one is gone
      const session = `${this.#worker}/${randomBytes(4).toString("hex")}`;
      if (heard && (await ear.operations.holdSession(session))) ear.session = session;
    } finally {
      if (!heard || this.#over.aborted) void client.end().catch(() => undefined);
    }
    if (heard && !this.#over.aborted) {
      this.#ear = ear;
      this.#onSession();
      this.#wake();
    }
    return heard;
  }

  #lost(ear: Ear, error?: unknown): void {
    void ear.client.end().catch(() => undefined);
    if (this.#ear !== ear) return;
    this.#ear = undefined;
    this.#flag = "down";
    if (!this.#over.aborted) this.#onSession();
    if (error !== undefined) this.#log.debug("connection that listens is lost", { queue: this.#queue.name, error });
    this.#wake();
  }

  /** Also when the connection comes or goes: whoever sleeps has to think again. */
  #wake(): void {
    this.#notifications += 1;
    this.#notice.give();
  }
}
