import { type Message, Pgque } from "@pgque/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { retryAfterMs } from "#src/execute/retry-policy";
import { resolveOptions } from "#src/resolve-options";
import { silent } from "./support/worker.ts";

test("with all defaults the retries of a message outlast an outage of four and a half hours, and end within ten", async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const pgque = new Pgque(database.pool());
  await pgque.ensure("orders");
  const { maxRetries } = await pgque.queues.settings("orders");
  const options = resolveOptions(() => undefined, {});
  const hoursWith = (random: number): number => {
    const chance = vi.spyOn(Math, "random").mockReturnValue(random);
    const waits = Array.from({ length: maxRetries ?? 0 }, (_, i) =>
      retryAfterMs({ attempt: i + 1, headers: {} } as Message, new Error("no"), options),
    );
    chance.mockRestore();
    return waits.reduce((sum, ms) => sum + ms, 0) / 3_600_000;
  };
  expect(maxRetries).toBe(20);
  expect(hoursWith(0)).toBeCloseTo(4.57, 2);
  expect(hoursWith(1 - Number.EPSILON)).toBeCloseTo(9.14, 2);
});

test.each([
  [0, 1, 0],
  [0, 2000, 0],
  [10, 3, 40],
  [10, 2000, 60_000],
])("from %d ms, the wait after attempt %d is %d ms", (retryMinMs, attempt, expected) => {
  const options = {
    retryMinMs,
    retryBackoff: "exponential",
    retryMaxMs: 60_000,
    retryJitter: false,
    log: silent,
  } as const;
  expect(retryAfterMs({ attempt, headers: {} } as Message, new Error("no"), options)).toBe(expected);
});

test("a backoff that is an async function waits retryMaxMs, and its rejection is logged", async () => {
  const error = vi.fn<(text: string, fields?: unknown) => void>();
  const thrown = new Error("no config service");
  const retryBackoff = (() => Promise.reject(thrown)) as never;
  const options = { retryMinMs: 1, retryBackoff, retryMaxMs: 60_000, retryJitter: false, log: { ...silent, error } };
  expect(retryAfterMs({ attempt: 1, headers: {} } as Message, new Error("no"), options)).toBe(60_000);
  await vi.waitFor(() => expect(error).toHaveBeenCalledWith("`retryBackoff` rejected", { error: thrown }));
});
