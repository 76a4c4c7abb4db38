import { manualClock } from "@pgque/worker/testing";
import { expect, test } from "vitest";

const never = new AbortController().signal;

test("stands still until it is told to go on", async () => {
  const clock = manualClock(new Date(1000));
  expect(clock.now()).toBe(1000);
  await clock.advance(500);
  expect(clock.now()).toBe(1500);
  await clock.set(new Date(10_000));
  expect(clock.now()).toBe(10_000);
  await clock.set(new Date(0));
  expect(clock.now()).toBe(0);
});

test("wakes whoever waits at their times, one after the other, and does not go on before they wait again", async () => {
  const clock = manualClock(new Date(0));
  const woken: string[] = [];
  const loop = async (name: string, everyMs: number, signal: AbortSignal): Promise<void> => {
    let nextMs = everyMs;
    while (!signal.aborted) {
      await clock.wait(nextMs - clock.now(), signal);
      if (clock.now() < nextMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      woken.push(`${name} ${clock.now()}`);
      nextMs += everyMs;
    }
  };
  const [a, b] = [new AbortController(), new AbortController()];
  const loops = [loop("a", 40, a.signal), loop("b", 100, b.signal)];
  await clock.advance(130);
  expect(woken).toEqual(["a 40", "a 80", "b 100", "a 120"]);
  expect(clock.now()).toBe(130);
  a.abort();
  await Promise.all([clock.advance(50), clock.advance(50)]);
  expect(woken.slice(4)).toEqual(["b 200"]);
  b.abort();
  await Promise.all(loops);
  await clock.advance(1000);
  expect(woken).toHaveLength(5);
});

test("a wait that is aborted ends at once", async () => {
  const clock = manualClock();
  const aborter = new AbortController();
  const waiting = clock.wait(1000, aborter.signal);
  aborter.abort();
  await waiting;
  await clock.wait(1000, aborter.signal);
  await clock.wait(0, never);
});

test("refuses what is no time", async () => {
  const clock = manualClock();
  await expect(clock.advance(-1)).rejects.toThrow("expected `ms` to be a number of milliseconds, 0 or more, got: -1");
  await expect(clock.set(new Date("x"))).rejects.toThrow("expected `time` to be a valid Date, got: NaN");
  expect(() => manualClock(new Date("x"))).toThrow("expected `start`");
  await clock.advance(0);
});
