import { setTimeout as sleep } from "node:timers/promises";
import type { Receive } from "../adapters/adapter.ts";

/** Receives until told to stop. After an empty receive it waits; after any other it asks again at once. */
export async function consume(
  receive: Receive,
  idlePollMs: number,
  done: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  while (!done() && !signal.aborted) {
    const messages = await receive();
    if (messages === 0) await sleep(idlePollMs, undefined, { signal });
  }
}
