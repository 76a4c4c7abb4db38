import { expect, test } from "vitest";
import { z } from "zod";
import { defineQueue, type PgqueError } from "@pgque/client";
import { failure } from "./support/client.ts";

const refused = (...args: unknown[]): Promise<PgqueError> => failure(() => Reflect.apply(defineQueue, undefined, args));

test("defineQueue says everything that is wrong at once", async () => {
  const error = await refused("", { maxRetries: -1, rotationBytes: 1.5, payloadBytesMax: "1 MiB", retries: 3 });
  expect(error.code).toBe("INVALID_OPTION");
  expect(error.details.problems).toEqual([
    "expected `name` to have 1 to 57 bytes of UTF-8, got: 0 bytes in ''",
    "expected `maxRetries` to be an integer from 0 to 32000, got: -1",
    "expected `rotationBytes` to be an integer from 8192 to 9007199254740991, got: 1.5",
    "expected `payloadBytesMax` to be an integer from 1 to 1000000000, got: '1 MiB'",
    "unknown option `retries`, known: payload, types, store, maxRetries, maxCrashes, partitions, priorities, lowPriorityEvery, allowExpiry, allowCancel, payloadBytesMax, notify, retentionMs, maxLagMs, maxLagAction, rotationBytes, rotationPeriodMs, rotationMinIntervalMs, defaults",
  ]);
  expect(error.message).toBe(`defineQueue(''): ${error.details.problems?.join("; ")}`);
});

test.for<[string, unknown[], string]>([
  ["no string", [7], "expected `name` to be a string, got: 7"],
  ["too many bytes", ["я".repeat(29)], "expected `name` to have 1 to 57 bytes of UTF-8, got: 58 bytes"],
  ["U+0000", ["a\0b"], "expected `name` to be without U+0000"],
  ["half a surrogate pair", ["a\ud83d"], "expected `name` to be well-formed Unicode"],
  ["options that are none", ["q", null], "expected `options` to be an object, got: null"],
  ["a period below 1 ms", ["q", { rotationPeriodMs: 0 }], "expected `rotationPeriodMs` to be an integer from 1 to"],
  [
    "a negative interval",
    ["q", { rotationMinIntervalMs: -1 }],
    "expected `rotationMinIntervalMs` to be an integer from 0 to",
  ],
  [
    "a schema that is none",
    ["q", { payload: { type: "object" } }],
    "expected `payload` to be a Standard Schema (zod, valibot, arktype, …)",
  ],
  ["an inherited name", ["q", { constructor: 1 }], "unknown option `constructor`"],
])("defineQueue refuses %s", async ([, args, message]) => {
  expect((await refused(...args)).message).toContain(message);
});

test("a queue is a plain frozen value, and an option that is undefined is not given", () => {
  const payload = z.string();
  const queue = defineQueue("q", { payload, maxRetries: undefined });
  expect(queue).toEqual({
    name: "q",
    payload,
    options: { maxRetries: undefined },
    defaults: {},
    types: undefined,
    store: "output",
  });
  expect(Object.isFrozen(queue) && Object.isFrozen(queue.options)).toBe(true);
  expect(defineQueue("я".repeat(28)).name).toHaveLength(28);
});
