import type { Message } from "@pgque/client";
import { expect, test, vi } from "vitest";
import { retryAfterMs } from "#src/backoff";
import { silent } from "./support/worker.ts";

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
  expect(retryAfterMs({ attempt } as Message, new Error("no"), options)).toBe(expected);
});

test("a backoff that is an async function waits retryMaxMs, and its rejection is logged", async () => {
  const error = vi.fn<(text: string, fields?: unknown) => void>();
  const thrown = new Error("no config service");
  const retryBackoff = (() => Promise.reject(thrown)) as never;
  const options = { retryMinMs: 1, retryBackoff, retryMaxMs: 60_000, retryJitter: false, log: { ...silent, error } };
  expect(retryAfterMs({ attempt: 1 } as Message, new Error("no"), options)).toBe(60_000);
  await vi.waitFor(() => expect(error).toHaveBeenCalledWith("`retryBackoff` rejected", { error: thrown }));
});
