import { fork, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pgque } from "@pgque/client";
import { expect, onTestFinished, test } from "vitest";
import { updatesAndDeletes } from "../../../../sql/test/support/statistics.ts";
import { freshDatabase } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { freshQueue } from "../support/worker.ts";

test("workers are killed for half a minute: a step that has returned is never begun again, and always returns the same", async () => {
  await using database = await freshDatabase();
  await using pgque = new Pgque(database.pool());
  const admin = await database.connect();
  await admin.query(
    "create or replace function pgque.session_grace() returns interval language sql immutable return interval '0 s'",
  );
  // on a slow machine a message may well be in hand when three processes are killed, and would be a dead letter
  const queue = await freshQueue(pgque, { maxRetries: 1000, maxCrashes: 1000 });
  const folder = mkdtempSync(path.join(os.tmpdir(), "pgque-steps-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const ledger = path.join(folder, "ledger");
  writeFileSync(ledger, "");
  const workers: ChildProcess[] = [];
  const start = (): void => {
    const script = path.join(import.meta.dirname, "../support/step-worker.ts");
    const env = { ...process.env, DATABASE_URL: database.url };
    workers.push(fork(script, [queue.name, ledger], { env, stdio: "ignore" }));
  };
  onTestFinished(() => {
    for (const worker of workers) worker.kill("SIGKILL");
  });
  for (let i = 0; i < 3; i += 1) start();
  const sent: string[] = [];
  const end = performance.now() + 30_000;
  let killed = 0;
  while (performance.now() < end) {
    sent.push(
      ...(
        await pgque.sendMany(
          queue,
          Array.from({ length: 20 }, (_, i) => i),
        )
      ).map(({ id }) => id),
    );
    await pause(Math.random() * 800);
    workers.shift()?.kill("SIGKILL");
    killed += 1;
    start();
  }
  const lines = (): string[][] =>
    readFileSync(ledger, "utf8")
      .split("\n")
      .map((line) => line.split(" "));
  const missing = (): string[] => {
    const done = new Set(lines().flatMap(([what, id = ""]) => (what === "done" ? [id] : [])));
    return sent.filter((id) => !done.has(id));
  };
  await until(() => missing().length === 0, "all is handled", 300_000);
  expect(await pgque.deadLetters.list(queue)).toEqual([]);
  const returned = new Map<string, string>();
  const wrong: string[] = [];
  for (const [what, id, step, result = ""] of lines()) {
    const known = returned.get(`${id} ${step}`);
    if (what === "begun" && known !== undefined) wrong.push(`begun again: ${id} ${step}`);
    if (what === "returned" && known !== undefined && known !== result) wrong.push(`another result: ${id} ${step}`);
    if (what === "returned") returned.set(`${id} ${step}`, result);
  }
  expect(wrong).toEqual([]);
  expect(returned.size).toBe(3 * sent.length);
  expect(killed).toBeGreaterThan(20);
  expect(await updatesAndDeletes(admin)).toEqual([]);
});
