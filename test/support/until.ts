import { setTimeout as pause } from "node:timers/promises";

/** Waits for a condition; fails with `what` when it does not come within `timeoutMs` (default 20 s). */
export async function until(
  condition: () => Promise<boolean> | boolean,
  what: string,
  timeoutMs = 20_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    await pause(10);
  }
}
