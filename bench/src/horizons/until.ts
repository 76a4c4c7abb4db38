import { setTimeout as sleep } from "node:timers/promises";

const withinMs = 60_000;

/** Waits until another session sees it; throws `otherwise` when a minute was not enough. */
export async function until(seen: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await seen())) {
    if (performance.now() > deadline) throw new Error(`${otherwise}, after ${withinMs / 1000} s`);
    await sleep(20);
  }
}
