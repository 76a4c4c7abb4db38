import { Failure } from "./failure.ts";

/** Closes one after the other, each whether or not those before it could be closed; throws what failed first. */
export function closing(...parts: (() => Promise<unknown>)[]): () => Promise<void> {
  return async () => {
    const failure = new Failure();
    for (const close of parts) await close().catch(failure.note);
    await failure.check();
  };
}
