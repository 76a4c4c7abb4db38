import type { ConsumerStatus, HeldLock, QueueStatus } from "@pgque/client";
import type { Holder } from "@pgque/client/horizon";
import type { Overview, Part } from "@pgque/dashboard";
import { judge } from "#src/reading/verdict";
import { expect, test } from "vitest";

const at = new Date("2026-01-31T03:00:00Z");
const minuteMs = 60_000;

const queue: QueueStatus = {
  name: "orders",
  consumers: 1,
  segments: 3,
  currentSegment: 0,
  rotatedAt: at,
  sentPerSecond: 1,
  bytes: 8192,
  delayed: 0,
  deadLetters: 0,
  paused: false,
};

const consumer: ConsumerStatus = {
  queue: "orders",
  name: "default",
  depth: 1200,
  oldestAt: at,
  lagMs: 11 * minuteMs,
  inFlight: 0,
  openBatches: 0,
  receivedAt: at,
  receivedPerSecond: 0,
  expired: 0,
  paused: false,
  estimated: false,
};

const lock: HeldLock = {
  purpose: "cursor",
  queue: "orders",
  consumer: "default",
  pid: 4242,
  preparedTransaction: null,
  role: "app",
  applicationName: "psql",
  since: at,
  waiting: 0,
};

const holder: Holder = {
  kind: "transaction",
  name: "77",
  holds: "tables",
  ageTransactions: 9,
  ageMs: 20 * minuteMs,
  isActive: true,
  details: { user: "report" },
  endsWith: "select pg_terminate_backend(77)",
  endsWhere: null,
};

const read = <Value>(...value: Value[]): Part<Value[]> => ({ ok: true, value });

const quiet: Overview = {
  at: at.toISOString(),
  tookMs: 5,
  queues: read(queue),
  consumers: read({ ...consumer, depth: 0, oldestAt: null, lagMs: null }),
  locks: read(),
  workers: read(),
  holders: read(),
};

test("with nothing wrong the verdict is that nothing waits", () => {
  expect(judge(quiet)).toEqual({ severity: "ok", text: "1 queue: nothing waits longer than 10 min.", advice: [] });
});

test.each<[string, Partial<Overview>, object]>([
  [
    "a held cursor is a failure of its consumer, ended by its process",
    { locks: read(lock) },
    { severity: "failure", queue: "orders", since: at.toISOString(), command: "select pg_terminate_backend(4242)" },
  ],
  [
    "messages that nobody receives are a failure, since the oldest",
    { consumers: read(consumer) },
    {
      severity: "failure",
      text: "1,200 messages wait for default of orders, and nobody receives",
      since: at.toISOString(),
    },
  ],
  [
    "a consumer that receives too slowly is a warning",
    { consumers: read({ ...consumer, receivedPerSecond: 3 }) },
    { severity: "warning", what: "Its workers do not keep up: start more, or raise their concurrency" },
  ],
  [
    "what waits for a paused consumer is a warning, with the command that resumes it",
    { consumers: read({ ...consumer, name: "it's", paused: true }) },
    { severity: "warning", command: `pgque consumer resume orders 'it'\\''s'` },
  ],
  [
    "what waits in a paused queue is a warning, with the command that resumes the queue",
    { queues: read({ ...queue, paused: true }), consumers: read({ ...consumer, paused: true }) },
    { severity: "warning", command: "pgque queue resume orders" },
  ],
  [
    "a holder of the horizon is a warning, with the statement that ends it",
    { holders: read(holder) },
    { severity: "warning", command: "select pg_terminate_backend(77)" },
  ],
  [
    "a slot that nobody reads is a warning, though nothing says since when",
    { holders: read({ ...holder, kind: "replication slot" as const, ageMs: null, isActive: false }) },
    { severity: "warning", since: null },
  ],
  [
    "a part that cannot be read is a warning, with the reason",
    { locks: { ok: false, error: "permission denied" } },
    { severity: "warning", text: "Held locks cannot be read: permission denied" },
  ],
  [
    "queues that cannot be read are a failure",
    { queues: { ok: false, error: "connect ECONNREFUSED" } },
    { severity: "failure", text: "The queues cannot be read: connect ECONNREFUSED", command: "pgque doctor" },
  ],
])("%s", (_, differs, expected) => {
  const verdict = judge({ ...quiet, ...differs });
  const [first] = verdict.advice;
  expect(first).toMatchObject(expected);
  expect(verdict.severity).toBe(first?.severity);
  expect(verdict.text).toContain(first?.text);
});

test("the worst comes first, and the sentence says how many more there are", () => {
  const verdict = judge({
    ...quiet,
    queues: read({ ...queue, deadLetters: 1 }),
    holders: read(holder),
    locks: read(lock),
  });
  expect(verdict.advice.map(({ severity }) => severity)).toEqual(["failure", "warning", "notice"]);
  expect(verdict.text).toMatch(/^process 4242 .* 1 more problem below\.$/);
});

test("dead letters and a paused queue alone are notices: the queues work", () => {
  const verdict = judge({ ...quiet, queues: read({ ...queue, deadLetters: 3, paused: true }) });
  expect(verdict).toMatchObject({ severity: "notice", text: "1 queue: nothing waits longer than 10 min." });
  expect(verdict.advice.map(({ text }) => text)).toEqual(["3 dead letters in orders", "orders is paused"]);
});
