/** Until when a batch is this worker's, as far as the worker can know. */
export class Lease {
  #endsAtMs: number;

  /** By `performance.now()`, not after the database's own time. */
  constructor(endsAtMs: number) {
    this.#endsAtMs = endsAtMs;
  }

  /** Whether somebody else may have its messages by now: this process was halted, or the database did not hear it. It stays so. */
  get isOver(): boolean {
    return performance.now() > this.#endsAtMs;
  }

  /** The database has heard a heartbeat that counts until then. One that it may have heard after the end of the lease changes nothing. */
  prolong(endsAtMs: number): void {
    if (!this.isOver) this.#endsAtMs = Math.max(this.#endsAtMs, endsAtMs);
  }

  /** The database says that it is over. */
  end(): void {
    this.#endsAtMs = Number.NEGATIVE_INFINITY;
  }
}
