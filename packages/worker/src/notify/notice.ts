/** Wakes whoever waits for something to have changed; they look again themselves. */
export class Notice {
  #waiting: (() => void)[] = [];

  /** Resolves at the next `give()`. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves once the condition holds. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.next();
  }

  give(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
