import { PgqueError } from "../errors/errors.ts";

/** The signal of one call: aborted by the caller's, and when the call has taken its time. */
export class TimeLimit {
  readonly signal: AbortSignal;
  readonly #limitMs: number;
  readonly #caller: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #aborter = new AbortController();
  #onLate = (): void => undefined;

  constructor(limitMs: number, caller: AbortSignal | undefined) {
    this.signal = this.#aborter.signal;
    this.#limitMs = limitMs;
    this.#caller = caller;
    // the answer may be there and not have been read, by a process that was busy or halted for so long
    this.#timer = setTimeout(() => setImmediate(() => this.#late()), limitMs);
    if (caller?.aborted) this.#onAbort();
    else caller?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Whether it was the time that was up. */
  get isOver(): boolean {
    return this.signal.aborted && this.signal.reason !== this.#caller?.reason;
  }

  /** `DATABASE_UNREACHABLE`: there was no connection, so nothing was sent. */
  errorOf(code: "DATABASE_UNREACHABLE" | "CONNECTION_LOST"): PgqueError {
    const hint = "If calls do take that long, raise `callTimeoutMs`";
    return code === "CONNECTION_LOST"
      ? new PgqueError(code, `expected the database to answer within ${this.#limitMs} ms, it did not`, {
          hint: `Whether the call took effect is not known. ${hint}`,
        })
      : new PgqueError(code, `expected a connection within ${this.#limitMs} ms, got none`, {
          hint: `The pool may be in use by others. ${hint}`,
        });
  }

  /** Waits for what must not be cancelled, until the time is up. */
  untilOver<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#onLate = () => reject(this.errorOf("CONNECTION_LOST"));
      work.then(resolve, reject);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#onAbort);
  }

  #late(): void {
    this.#aborter.abort(this.errorOf("CONNECTION_LOST"));
    this.#onLate();
  }

  readonly #onAbort = (): void => this.#aborter.abort(this.#caller?.reason);
}
