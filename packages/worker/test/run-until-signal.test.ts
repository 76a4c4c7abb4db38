import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pgque } from "@pgque/client";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue } from "./support/worker.ts";

const database = await freshDatabase();
const pgque = new Pgque(database.pool());
afterAll(() => database.drop());

/** Signals closer together than this are one. */
const sameSignalMs = 1000;

async function service(
  payload: string,
): Promise<{ child: ChildProcess; out: () => string; says: (text: string) => Promise<void> }> {
  const queue = await freshQueue(pgque);
  await pgque.send(queue, payload);
  const script = path.join(import.meta.dirname, "support/service-process.ts");
  const env = { ...process.env, DATABASE_URL: database.url };
  const child = spawn(process.execPath, [script, queue.name], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout?.on("data", (chunk) => (out += String(chunk)));
  return { child, out: () => out, says: (text) => until(() => out.includes(text), `the service says ${text}`) };
}

test("a service starts its workers, stops with a signal and leaves nothing open", async () => {
  const { child, out, says } = await service("done");
  const ended = once(child, "exit");
  await says("done");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(out()).toContain("over SIGTERM");
});

test("a second signal ends it, whatever its handlers do", async () => {
  const { child, out, says } = await service("stuck");
  const ended = once(child, "exit");
  await says("stuck");
  child.kill("SIGINT");
  await says("worker stopping");
  await pause(sameSignalMs + 100);
  child.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
  expect(out()).toContain("over SIGINT");
});
