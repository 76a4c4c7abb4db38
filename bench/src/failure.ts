/** What goes wrong where it cannot be thrown yet, or only a listener of a library is told. It is kept until somebody asks: a failure must not vanish. */
export class Failure {
  #first: Error | null = null;

  /** Of several the first is kept: the others often follow from it. */
  readonly note = (error: unknown): void => {
    this.#first ??= error instanceof Error ? error : new Error(String(error));
  };

  get isNoted(): boolean {
    return this.#first !== null;
  }

  /** Throws what was noted. */
  readonly check = async (): Promise<void> => {
    if (this.#first !== null) throw this.#first;
  };
}

/** For where a failure shows in what was not handled. */
export const unheard = (): void => undefined;
