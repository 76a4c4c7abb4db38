import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Pgque } from "@pgque/client";
import type { WorkerOptions } from "@pgque/worker";
import { afterAll, expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());
// the server of the tests has not run for half a minute yet, in which it takes nobody for dead
await pgque.pool.query(
  "create or replace function pgque.session_grace() returns interval language sql immutable return interval '0 s'",
);

// a process that ends before it has said whose session it holds is missed when its lease ends
const brief = { prefetch: 20, batchSize: 20, leaseMs: 5000, heartbeatIntervalMs: 1000 };

const kinds: { kind: string; end: string; options: WorkerOptions<never, boolean> }[] = [
  { kind: "a shared consumer", end: "exit", options: {} },
  { kind: "a shared consumer, in transactions", end: "kill", options: { transactional: true } },
  { kind: "a shared consumer, in batches", end: "exit", options: { batch: true } },
  { kind: "an ordered consumer", end: "reject", options: { mode: "ordered" } },
];

test.concurrent.for(kinds)(
  "of $kind, one message that ends its process three times is a dead letter, and its 19 neighbours are handled at their first attempt",
  { timeout: 180_000 },
  async ({ end, options }, { onTestFinished }) => {
    const isOrdered = options.mode === "ordered";
    const queue = await freshQueue(pgque, { maxRetries: 1, ...(isOrdered && { partitions: 16 }) });
    if (isOrdered) await pgque.subscribe(queue, "ordered", { mode: "ordered" });
    const consumer = isOrdered ? "ordered" : "default";
    const payloads = Array.from({ length: 20 }, (_, i) => (i === 10 ? "poison" : i));
    await pgque.sendMany(queue, payloads, isOrdered ? { key: "one" } : {});
    const { entries, ends, stop } = supervised(queue.name, end, { ...brief, consumer, ...options });
    onTestFinished(stop);
    const innocent = payloads.filter((one) => one !== "poison");
    const handled = (): Entry[] => entries().filter(([what]) => what === "handled");
    await until(
      async () =>
        (await pgque.deadLetters.list(queue)).length > 0 &&
        innocent.every((one) => handled().some(([, payload]) => payload === one)),
      "one is a dead letter and the others are handled",
      120_000,
    );
    const dead = await pgque.deadLetters.list(queue);
    expect(dead.map(({ payload, attempt, reason }) => [payload, attempt, reason])).toEqual([
      ["poison", 1, "it was in hand when 3 processes ended or lost their leases, alone in the last of them"],
    ]);
    expect(handled().filter(([, , attempt]) => attempt !== 1)).toEqual([]);
    expect(entries().filter(([what, payload]) => what === "begun" && payload === "poison")).toHaveLength(3);
    expect(ends()).toBe(3);
    if (isOrdered) expect([...new Set(handled().map(([, payload]) => payload))]).toEqual(innocent);
  },
);

type Entry = [what: string, payload: unknown, attempt: number];

/** Starts a worker, and another when it has ended. */
function supervised(
  queue: string,
  end: string,
  options: object,
): { entries: () => Entry[]; ends: () => number; stop: () => void } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-crashes-"));
  const ledger = path.join(folder, "ledger");
  const script = path.join(import.meta.dirname, "support/crashing-process.ts");
  let ended = 0;
  let child: ChildProcess | undefined;
  let isOver = false;
  const start = (): void => {
    child = spawn(process.execPath, [script, queue, ledger, end, JSON.stringify(options)], {
      env: { ...process.env, DATABASE_URL: database.url },
      stdio: "ignore",
    });
    child.on("exit", () => {
      if (isOver) return rmSync(folder, { recursive: true });
      ended += 1;
      start();
    });
  };
  start();
  return {
    stop: () => {
      isOver = true;
      child?.kill("SIGKILL");
    },
    entries: () =>
      readFileSync(ledger, { encoding: "utf8", flag: "a+" })
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ends: () => ended,
  };
}
