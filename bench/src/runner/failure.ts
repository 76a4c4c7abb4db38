import { redact } from "@pgque/client/redact";

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

/** Closes one after the other, each whether or not those before it could be closed; throws what failed first. */
export function closing(...parts: (() => Promise<unknown>)[]): () => Promise<void> {
  return async () => {
    const failure = new Failure();
    for (const close of parts) await close().catch(failure.note);
    await failure.check();
  };
}

/** Why a trial has no figures though nothing failed. */
export class NotRun extends Error {
  override name = "NotRun";
}

/** Why a trial has no figures: something that it needs is not installed, or it failed. */
export function whyNot(failure: unknown): { skipped: string | null; error: string | null } {
  const message = reasonOf(failure);
  return failure instanceof NotRun ? { skipped: message, error: null } : { skipped: null, error: message };
}

/** What a failure says, for whoever reads the results: without the password of a server that was given. */
export function reasonOf(failure: unknown): string {
  return redact(failure instanceof Error ? failure.message : String(failure));
}
