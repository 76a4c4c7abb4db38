import type { Pool } from "pg";

/** One for each pool, whichever workers use it. */
const all = new WeakMap<Pool, Places>();

/**
 * The connections of a pool that handlers may have for their transactions: all but one. With the last they would wait for each other: for what
 * they send through the pool, and for what receives, settles and maintains.
 */
export class Places {
  /** How many there are. */
  readonly max: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  private constructor(max: number) {
    this.max = max;
    this.#free = max;
  }

  static of(pool: Pool): Places {
    const known = all.get(pool);
    if (known !== undefined) return known;
    // a copy of pg that does not say has its default
    const places = new Places((pool.options?.max ?? 10) - 1);
    all.set(pool, places);
    return places;
  }

  /** In the order of the calls. What is returned gives the place back; undefined: the signal was aborted before there was one. */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#turn(signal))) return undefined;
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
  }

  #turn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        resolve(false);
      };
      const go = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve(true);
      };
      this.#waiting.push(go);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
