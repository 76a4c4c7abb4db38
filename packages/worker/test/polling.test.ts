import { setInterval } from "node:timers/promises";
import { expect, test } from "vitest";
import { Polling } from "#src/fetch/polling";
import { Alarm } from "#src/notify/alarm";
import type { WakeUps } from "#src/notify/wake-ups";

/** Receives what a clock has sent, and counts what the senders are asked and told. */
async function receiveFor(ms: number, everyMs: number) {
  const calls = { raised: 0, lowered: 0, receives: 0 };
  let isUp = false;
  const wakeUps = {
    get isQuiet() {
      return isUp;
    },
    async quiet() {
      if (!isUp) calls.raised += 1;
      isUp = true;
      return "quiet";
    },
    async busy() {
      if (isUp) calls.lowered += 1;
      isUp = false;
    },
  };
  const [alarm, stop] = [new Alarm(), new AbortController()];
  const options = { pollMinMs: 25, pollMaxMs: 1000, fallbackPollMs: 5000 };
  const polling = new Polling(wakeUps as unknown as WakeUps, alarm, options, () => undefined);
  const begunAtMs = performance.now();
  const sentNow = (): number => Math.floor((performance.now() - begunAtMs) / everyMs);
  let received = 0;
  const receiving = (async () => {
    while (!stop.signal.aborted) {
      await polling.prepare();
      // a receive takes a moment
      await new Promise((resolve) => setImmediate(resolve));
      const sent = sentNow();
      calls.receives += 1;
      await polling.rest(sent - received, false, stop.signal);
      received = Math.max(received, sent);
    }
  })();
  let told = 0;
  for await (const _ of setInterval(1)) {
    if (isUp && sentNow() > told) alarm.ring();
    told = sentNow();
    if (performance.now() - begunAtMs > ms) break;
  }
  stop.abort();
  await receiving;
  return { ...calls, sent: told };
}

test("at a hundred messages a second every sender wakes the worker, which asks for nothing else", async () => {
  const { raised, lowered, receives, sent } = await receiveFor(1500, 10);
  expect({ raised, lowered }).toEqual({ raised: 1, lowered: 0 });
  expect(sent).toBeGreaterThan(100);
  // a few second looks before it has learned that they find nothing
  expect(receives).toBeLessThan(1.2 * sent);
});

test("at a thousand messages a second no sender has to wake it, once it has seen that they come steadily", async () => {
  const { raised, lowered, receives, sent } = await receiveFor(1500, 1);
  expect(raised).toBeLessThanOrEqual(2);
  expect(lowered).toBeLessThanOrEqual(2);
  // it waits for the next message at least
  expect(receives).toBeLessThan(sent);
});
