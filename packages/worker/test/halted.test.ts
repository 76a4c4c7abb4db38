import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Pgque } from "@pgque/client";
import type { WorkerOptions } from "@pgque/worker";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, startWorker } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

const brief: WorkerOptions = { leaseMs: 1000, heartbeatIntervalMs: 200 };

test("a worker that was halted for longer than its lease begins nothing of what it held, and goes on with what comes", async () => {
  const queue = await freshQueue(pgque, { partitions: 16 });
  await pgque.subscribe(queue, "ordered", { mode: "ordered" });
  await pgque.sendMany(
    queue,
    Array.from({ length: 20 }, (_, i) => i),
    { key: "one" },
  );
  const options: WorkerOptions = { ...brief, consumer: "ordered", mode: "ordered" };
  const { child, begun } = halting(queue.name, options);
  await until(() => begun().length > 0, "it has begun");
  child.kill("SIGSTOP");
  const before = begun();
  expect(before.length).toBeLessThan(20);
  const others: unknown[] = [];
  const other = await startWorker(pgque, queue, ({ payload }) => void others.push(payload), options);
  await until(() => others.includes(19), "another has handled the rest");
  await other.stop();
  child.kill("SIGCONT");
  await pgque.send(queue, "later", { key: "one" });
  await until(() => begun().includes("later"), "the first one handles what came later");
  expect(begun()).toEqual([...before, "later"]);
});

test("a handler's signal is aborted when the lease of its message is over, and what it throws then uses no attempt", async () => {
  const queue = await freshQueue(pgque, { maxRetries: 0 });
  await pgque.send(queue, "long");
  // nobody hears of the worker before its lease is over
  const blocker = await database.connect();
  await blocker.query("begin");
  await blocker.query("lock table pgque.heartbeat in exclusive mode");
  const reasons: unknown[] = [];
  const attempts: number[] = [];
  await startWorker(
    pgque,
    queue,
    ({ attempt }, { signal }) => {
      attempts.push(attempt);
      if (attempts.length > 1) return undefined;
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(signal.reason);
        });
      });
    },
    { leaseMs: 1000, heartbeatIntervalMs: 500 },
  );
  await until(() => attempts.length === 2, "it comes again");
  await blocker.query("commit");
  expect(reasons).toEqual([expect.objectContaining({ name: "AbortError" })]);
  expect(attempts).toEqual([1, 1]);
});

/** A worker in a process of its own, and what it has begun. */
function halting(queue: string, options: WorkerOptions): { child: ReturnType<typeof spawn>; begun: () => unknown[] } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-halted-"));
  const ledger = path.join(folder, "ledger");
  const script = path.join(import.meta.dirname, "support/crashing-process.ts");
  const child = spawn(process.execPath, [script, queue, ledger, "exit", JSON.stringify(options)], {
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: "ignore",
  });
  child.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  onTestFinished(() => void child.kill("SIGKILL"));
  const begun = (): unknown[] =>
    readFileSync(ledger, { encoding: "utf8", flag: "a+" })
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
      .filter(([what]) => what === "begun")
      .map(([, payload]) => payload);
  return { child, begun };
}
