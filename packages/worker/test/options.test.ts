import { Pgque, isPgqueError, defineQueue } from "@pgque/client";
import { Worker, type WorkerOptions } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";

const pgque = new Pgque("postgres://localhost/none");
afterAll(() => pgque.close());
const queue = defineQueue("q");
const handler = (): undefined => undefined;

const make = (of: unknown, options: unknown): Worker =>
  new Worker(pgque, queue, of as typeof handler, options as WorkerOptions);

function problemsOf(options: unknown, of: unknown = handler): string[] {
  try {
    make(of, options);
  } catch (error) {
    if (isPgqueError(error, "INVALID_OPTION")) return error.details["problems"] as string[];
    throw error;
  }
  return [];
}

test.each([
  [{ concurrency: 0 }, "expected `concurrency` to be an integer from 1 to 10000, got: 0"],
  [{ concurrency: 1.5 }, "expected `concurrency` to be an integer from 1 to 10000, got: 1.5"],
  [{ prefetchBytes: 2 ** 31 }, "expected `prefetchBytes` to be an integer from 1 to 2147483647, got: 2147483648"],
  [{ leaseMs: "30 s" }, "expected `leaseMs` to be an integer from 1000 to 604800000, got: '30 s'"],
  [{ concurrency: 10, prefetch: 5 }, "expected `prefetch` to be at least `concurrency` (10), got: 5"],
  [
    { leaseMs: 1000, heartbeatIntervalMs: 2000 },
    "expected `leaseMs` to be at least `heartbeatIntervalMs` (2000), got: 1000",
  ],
  [{ consumer: "" }, "expected `consumer` to have 1 to 57 bytes of UTF-8, got: 0 bytes in ''"],
  [
    { consumer: "é".repeat(29) },
    `expected \`consumer\` to have 1 to 57 bytes of UTF-8, got: 58 bytes in '${"é".repeat(29)}'`,
  ],
  [{ retryBackoff: "linear" }, 'expected `retryBackoff` to be "exponential", "fixed" or a function, got: \'linear\''],
  [{ retryJitter: 0.5 }, "expected `retryJitter` to be true or false, got: 0.5"],
  [{ log: {} }, "expected `log` to be a logger with debug, info, warn and error, got: {}"],
])("%j is refused", (options, problem) => {
  expect(problemsOf(options)).toEqual([problem]);
});

test("everything wrong is said at once, with the known names for an unknown one", () => {
  const problems = problemsOf({ concurency: 5, pollMinMs: -1 }, "handler");
  expect(problems).toEqual([
    "expected `handler` to be a function, or an object with a function for each type, got: 'handler'",
    expect.stringMatching(/^unknown option `concurency`, known: concurrency, /),
    "expected `pollMinMs` to be an integer from 1 to 60000, got: -1",
  ]);
});

test("an option that is undefined is one that is not given", () => {
  expect(problemsOf({ concurrency: undefined, consumer: undefined })).toEqual([]);
});
