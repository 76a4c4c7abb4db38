import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { isPgqueError, type Operations, type Pgque } from "@pgque/client";
import { Client, type Notification } from "pg";
import { within } from "../connection/answer.ts";
import { connectBeside } from "../connection/beside-pool.ts";
import { closeConnection } from "../connection/close-connection.ts";
import { Notice } from "./notice.ts";
import { deadline } from "../connection/pause.ts";

/** How long a notification that is sent to find out may take. */
const probeMs = 2000;

/** READ_ONLY: its server has become a standby, and another may be the primary. */
const gone = new Set(["CONNECTION_LOST", "DATABASE_UNREACHABLE", "CLOSED", "READ_ONLY"]);

/** What a listening connection tells. */
export interface ListenConnectionEvents {
  /** How long an answer on it may take. */
  answerMs(): number;
  heard(channel: string, payload: string): void;
}

/**
 * A connection that listens, on which idle flags are raised and heartbeats sent, and that holds a session's lock for as long as it lasts. It
 * answers in order, so it is asked for nothing that takes long.
 */
export class ListenConnection {
  /** Held while the connection lasts, and named by heartbeats; undefined when it could not be. See `holdSession`. */
  session: string | undefined;
  readonly #pgque: Pgque;
  readonly #client: Client;
  readonly #operations: Operations;
  readonly #events: ListenConnectionEvents;
  readonly #channels = new Map<string, Promise<unknown>>();
  readonly #lost = new AbortController();
  /** When each call was made that is not answered yet, the oldest first. */
  readonly #asked = new Set<{ atMs: number }>();
  /** Ends with the last call that was made. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #probe = `pgque_probe_${randomBytes(8).toString("hex")}`;
  readonly #notice = new Notice();
  #isProbed = false;

  private constructor(pgque: Pgque, events: ListenConnectionEvents) {
    this.#pgque = pgque;
    this.#events = events;
    this.#client = new Client(pgque.pool.options);
    this.#operations = pgque.on(this.#client);
    this.#client.on("error", (error) => this.lose(error));
    this.#client.on("end", () => this.lose());
    this.#client.on("notification", ({ channel, payload = "" }: Notification) => this.#heard(channel, payload));
  }

  /** Undefined: it connects, but what is sent does not arrive. `over`: gives up. */
  static async open(
    pgque: Pgque,
    events: ListenConnectionEvents,
    over: AbortSignal,
  ): Promise<ListenConnection | undefined> {
    const connection = new ListenConnection(pgque, events);
    let isUsed = false;
    try {
      await connectBeside(pgque, connection.#client, events.answerMs());
      if (!(await connection.#hears(over))) return undefined;
      // of a new name: the server may not have noticed yet that the connection before this one is gone
      const session = `${hostname()}:${process.pid}/${randomBytes(8).toString("hex")}`;
      if (await connection.ask(({ runtime }) => runtime.holdSession(session))) connection.session = session;
      isUsed = !over.aborted && !connection.lost.aborted;
      return connection;
    } finally {
      if (!isUsed) connection.lose();
    }
  }

  /** Aborted with the end of the connection; its reason is why. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** How long the oldest call that is not answered has waited, in milliseconds. */
  get silentForMs(): number {
    const [oldest] = this.#asked;
    return oldest === undefined ? 0 : performance.now() - oldest.atMs;
  }

  /** One call after the other. What the server refuses fails alone; without an answer in time the connection is given up. */
  async ask<T>(call: (operations: Operations) => Promise<T>): Promise<T> {
    const asked = { atMs: performance.now() };
    this.#asked.add(asked);
    const answer = this.#turn.then(() => this.#answer(call));
    this.#turn = answer.then(
      () => this.#asked.delete(asked),
      () => this.#asked.delete(asked),
    );
    return answer;
  }

  async #answer<T>(call: (operations: Operations) => Promise<T>): Promise<T> {
    this.lost.throwIfAborted();
    try {
      return await within(this.#events.answerMs(), call(this.#operations));
    } catch (error) {
      if (isPgqueError(error) && gone.has(error.code)) this.lose(error);
      throw error;
    }
  }

  /** Whether it is there: nobody may have been told of its end. */
  async ping(): Promise<void> {
    await this.ask(() => this.#client.query("select"));
  }

  /** Resolves once what is sent to the channel is heard. Asks the server once. */
  async listen(channel: string): Promise<void> {
    const listening = this.#channels.get(channel) ?? this.#command("listen", channel);
    this.#channels.set(channel, listening);
    try {
      await listening;
    } catch (error) {
      if (this.#channels.get(channel) === listening) this.#channels.delete(channel);
      throw error;
    }
  }

  /** Nobody is left who would hear. Without waiting. */
  unlisten(channel: string): void {
    if (this.lost.aborted || !this.#channels.delete(channel)) return;
    // one that fails does no harm: nobody hears
    void this.#command("unlisten", channel).catch(() => undefined);
  }

  lose(error?: unknown): void {
    if (this.lost.aborted) return;
    this.#lost.abort(error);
    closeConnection(this.#client);
  }

  #command(command: "listen" | "unlisten", channel: string): Promise<unknown> {
    return this.ask(() => this.#client.query(`${command} ${this.#client.escapeIdentifier(channel)}`));
  }

  /** Finds out whether what is sent from another connection arrives: a pooler hands it to whoever is there just then. */
  async #hears(over: AbortSignal): Promise<boolean> {
    await this.listen(this.#probe);
    await this.#notify();
    const give = (): void => this.#notice.give();
    over.addEventListener("abort", give);
    await deadline(probeMs).reached(this.#notice.until(() => this.#isProbed || over.aborted));
    over.removeEventListener("abort", give);
    // a connection that is lost by now has not heard either, and that says nothing
    await this.#command("unlisten", this.#probe);
    return this.#isProbed;
  }

  async #notify(): Promise<void> {
    const client = new Client(this.#pgque.pool.options);
    client.on("error", () => undefined);
    try {
      await connectBeside(this.#pgque, client, this.#events.answerMs());
      await within(this.#events.answerMs(), client.query("select pg_notify($1, '')", [this.#probe]));
    } finally {
      closeConnection(client);
    }
  }

  #heard(channel: string, payload: string): void {
    if (channel !== this.#probe) return this.#events.heard(channel, payload);
    this.#isProbed = true;
    this.#notice.give();
  }
}
