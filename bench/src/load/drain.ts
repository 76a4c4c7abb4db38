import { setTimeout as sleep } from "node:timers/promises";
import { consume } from "./consume.ts";
import { withPushed, type Load } from "./load.ts";

/**
 * Consumers alone, until everything sent is finished but for so many. Returns the seconds it took, null if it took longer than
 * allowed.
 */
export async function drain(load: Load, secondsMax: number, signal: AbortSignal, left = 0): Promise<number | null> {
  const startMs = performance.now();
  const endMs = startMs + secondsMax * 1000;
  const done = (): boolean => load.tally.depth <= left || performance.now() >= endMs;
  if (load.tally.depth <= left) return 0;
  await withPushed(load.consumers, async () => {
    if (load.consumers.kind === "pushed") {
      while (!done()) await sleep(load.idlePollMs, undefined, { signal });
      return;
    }
    await Promise.all(load.consumers.receive.map((receive) => consume(receive, load.idlePollMs, done, signal)));
  });
  signal.throwIfAborted();
  return load.tally.depth <= left ? (performance.now() - startMs) / 1000 : null;
}
