import type { Pgque } from "@pgque/client";
import { answered, within } from "../connection/answer.ts";
import { warnOfHandler } from "../connection/beside-pool.ts";
import { answersOf } from "../health/watch.ts";
import type { ResolvedOptions } from "../resolve-options.ts";
import type { Notifier } from "../notify/notifier.ts";
import { shared } from "../log.ts";
import { OwnConnection } from "../connection/own-connection.ts";
import { retry } from "../connection/retry.ts";

/** A heartbeat counts for this many intervals: two may be lost. */
const intervalsAlive = 3;

/** A worker whose leases are kept. */
export interface HeartbeatMember {
  readonly options: Pick<ResolvedOptions, "log" | "watch" | "queryTimeoutMs">;
  /** The names under which it holds leases. */
  readonly names: string[];
  /** The database has heard these names, which counts until then, by `performance.now()`. */
  heard(names: ReadonlySet<string>, untilMs: number): void;
}

/**
 * The heartbeats of the workers that have the same interval, in one statement. It goes out on the notifier, or where there is none, or it
 * does not answer, on a connection of its own: handlers that have all connections of the pool cannot let leases lapse. Where the server has none
 * to spare it goes through the pool. Without a lease to keep nothing is sent but the question whether the notifier is there.
 */
export class Heartbeater {
  readonly #pgque: Pgque;
  readonly #intervalMs: number;
  readonly #notifier: Notifier | undefined;
  readonly #own: OwnConnection;
  readonly #members = new Set<HeartbeatMember>();
  readonly #log = shared(() => Array.from(this.#members, ({ options }) => options.log));
  readonly #watch = answersOf(() => Array.from(this.#members, ({ options }) => options.watch));
  /** Of the time from the first member to the last. */
  #over = new AbortController();
  /** When each name's latest heartbeat was sent, and which session it named. */
  readonly #sent = new Map<string, { atMs: number; session: string | undefined }>();
  /** Whether a session was ever named: behind a pooler there is none. */
  #hasNamed = false;
  /** Names whose heartbeat does not wait for the interval. */
  readonly #urgent = new Set<string>();
  #urgentSent: Promise<void> | undefined;
  #beaten: Promise<void> = Promise.resolve();

  /** `notifier`: undefined for workers that do not listen. */
  constructor(pgque: Pgque, intervalMs: number, notifier: Notifier | undefined) {
    this.#pgque = pgque;
    this.#intervalMs = intervalMs;
    this.#notifier = notifier;
    this.#own = new OwnConnection(pgque);
  }

  join(member: HeartbeatMember): void {
    this.#members.add(member);
    if (this.#members.size > 1) return;
    this.#over = new AbortController();
    const said = { log: this.#log, watch: this.#watch };
    void retry("heartbeat", this.#intervalMs, said, this.#over.signal, () => (this.#beaten = this.#beat()));
  }

  /** Resolves when nothing is being sent that may be the member's. */
  async leave(member: HeartbeatMember): Promise<void> {
    this.#members.delete(member);
    if (this.#members.size === 0) this.#over.abort();
    // what fails has been said
    await Promise.allSettled([this.#beaten, this.#urgentSent]);
    if (this.#members.size === 0) this.#own.close();
  }

  /**
   * The first after a rest does not wait for the next interval: a crash is to be noticed at once. Nor does the first after another session: what is
   * held under a name whose latest heartbeat named one that is over is taken away.
   */
  received(name: string): void {
    const session = this.#session;
    if (session === undefined && !this.#hasNamed) return;
    const latest = this.#sent.get(name);
    const isRecent = latest !== undefined && performance.now() - latest.atMs < this.#intervalMs;
    if (isRecent && latest.session === session) return;
    this.#tell([name]);
  }

  /** There is one now, or the one that the last heartbeats named is over and their workers are not. */
  sessionChanged(): void {
    this.#tell(this.#names());
  }

  /** What heartbeats name just now. */
  get #session(): string | undefined {
    return this.#notifier?.connection?.session;
  }

  #noteSent(names: Iterable<string>): void {
    const sent = { atMs: performance.now(), session: this.#session };
    this.#hasNamed ||= sent.session !== undefined;
    for (const name of names) this.#sent.set(name, sent);
  }

  #names(): Set<string> {
    return new Set(Array.from(this.#members, ({ names }) => names).flat());
  }

  async #beat(): Promise<void> {
    const names = this.#names();
    for (const name of this.#sent.keys()) if (!names.has(name)) this.#sent.delete(name);
    if (names.size === 0) this.#own.close();
    // a notifier that is lost says so itself
    if (names.size === 0) await this.#notifier?.connection?.ping().catch(() => undefined);
    else await this.#send([...names]);
  }

  /** Without waiting; what fails is sent again with the next interval. What comes while some are sent goes together. */
  #tell(names: Iterable<string>): void {
    const told = [...names];
    this.#noteSent(told);
    for (const name of told) this.#urgent.add(name);
    this.#urgentSent ??= this.#sendUrgent().finally(() => (this.#urgentSent = undefined));
  }

  async #sendUrgent(): Promise<void> {
    while (this.#urgent.size > 0) {
      const names = [...this.#urgent];
      this.#urgent.clear();
      await this.#send(names).catch((error: unknown) => this.#log.debug("heartbeat failed, will try again", { error }));
    }
  }

  async #send(names: string[]): Promise<void> {
    const heardAtMs = await this.#sendNames(names);
    const named = new Set(names);
    for (const member of this.#members) {
      if (member.names.length > 0) member.options.watch.heartbeat();
      member.heard(named, heardAtMs + intervalsAlive * this.#intervalMs);
    }
  }

  /** When it was sent that the database has heard, by `performance.now()`. */
  async #sendNames(names: string[]): Promise<number> {
    this.#noteSent(names);
    const ttlMs = intervalsAlive * this.#intervalMs;
    const limitMs = this.#limitMs();
    const connection = this.#notifier?.connection;
    if (connection !== undefined && connection.silentForMs < limitMs) {
      const sentAtMs = performance.now();
      try {
        await within(
          limitMs,
          connection.ask(({ runtime }) => runtime.heartbeat(names, ttlMs, connection.session)),
        );
        this.#own.close();
        return sentAtMs;
      } catch (error) {
        this.#log.debug("heartbeat failed on the connection that listens, trying one of its own", { error });
      }
    }
    const askedAtMs = performance.now();
    try {
      await this.#own.ask(limitMs, ({ runtime }) => runtime.heartbeat(names, ttlMs, this.#session));
      return askedAtMs;
    } catch (error) {
      if (!warnOfHandler(this.#pgque, this.#log, error))
        this.#log.debug("heartbeat failed on a connection of its own, trying the pool", { error });
    }
    const sentAtMs = performance.now();
    await answered(limitMs, (signal) => this.#pgque.runtime.heartbeat(names, ttlMs, this.#session, { signal }));
    return sentAtMs;
  }

  /** The next one is due by then, and a connection that does not answer is not to be the end of a lease. */
  #limitMs(): number {
    const queryTimeoutsMs = Array.from(this.#members, ({ options }) => options.queryTimeoutMs);
    return Math.min(Math.max(this.#intervalMs, 1000), ...queryTimeoutsMs);
  }
}
