/** A reading of some duration is not repeated before fifty times that: a fiftieth of one connection at most is spent on it. */
const restPerMs = 50;

/** So long at most is a reading shown, however long it took. */
const restMaxMs = 60_000;

/** One reading for everybody who looks: however many pages are open, the database is asked by one. */
export class Feed<Value> {
  readonly #readOnce: () => Promise<Value>;
  readonly #refreshMs: number;
  #reading: Promise<Value> | undefined;
  #freshUntilMs = Number.POSITIVE_INFINITY;

  constructor(readOnce: () => Promise<Value>, refreshMs: number) {
    this.#readOnce = readOnce;
    this.#refreshMs = refreshMs;
  }

  /** The last reading while it is fresh, else a new one, which all who ask meanwhile share. */
  read(): Promise<Value> {
    if (this.#reading !== undefined && Date.now() < this.#freshUntilMs) return this.#reading;
    this.#freshUntilMs = Number.POSITIVE_INFINITY;
    this.#reading = this.#readAnew();
    return this.#reading;
  }

  async #readAnew(): Promise<Value> {
    const began = Date.now();
    try {
      return await this.#readOnce();
    } finally {
      const now = Date.now();
      this.#freshUntilMs = now + Math.max(this.#refreshMs, Math.min((now - began) * restPerMs, restMaxMs));
    }
  }
}
