import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveEngineSettings } from "#src/scenarios/engine/engine";
import type { MicrobenchmarkContext } from "#src/scenarios/engine/microbenchmark";
import { microbenchmarkNamed, microbenchmarkNames } from "#src/scenarios/engine/registry";
import { openServer, type Server } from "#src/runner/server";

let server: Server;
let context: MicrobenchmarkContext;
beforeAll(async () => {
  const settings = resolveEngineSettings({ quick: true });
  server = await openServer(settings, 17);
  const { synchronousCommit, quick } = settings;
  context = { server, synchronousCommit, quick, signal: new AbortController().signal, note() {} };
});
afterAll(() => server.close());

/** As little as shows that every step is taken. */
const least: Record<string, Record<string, number>> = {
  send: { connections: 2, rounds: 1, seconds: 0.2 },
  finish: { backlog: 5000, rounds: 1, seconds: 0.1, heldSeconds: 0.2 },
  wal: { messages: 200, idleSeconds: 0.1 },
  idle: { polls: 200, rounds: 2 },
  latency: { rounds: 1, seconds: 0.3 },
  call: { pairs: 10 },
  backlog: { messages: 20_000, receives: 2, segmentMiB: 1 },
  rotation: { rounds: 1, seconds: 0.6, senders: 2, sendsPerSecond: 100, receivers: 2 },
  features: { rounds: 1, messages: 200 },
  settle: { few: 20, many: 200, rounds: 1 },
  memory: { queues: 2 },
  ring: { mebibytes: 2, calls: 2, delayed: 2 },
  queues: { queues: 4, window: 2, calls: 1, sessions: 1, rounds: 1, sends: 20 },
};

test.each(microbenchmarkNames)("%s: a number for every value, and no database left behind", async (name) => {
  const microbenchmark = microbenchmarkNamed(name);
  const values = await microbenchmark.measure(context, least[name] ?? {});
  expect(Object.keys(values).sort()).toEqual(Object.keys(microbenchmark.values).sort());
  for (const [key, value] of Object.entries(values)) {
    // where the server's processes cannot be seen, or used less than a tick
    if (value === null) expect(key).toMatch(/cpu/i);
    else expect(value, key).toBeGreaterThanOrEqual(0);
  }
  const client = await server.connect("postgres", "test");
  const { rows } = await client.query("select datname from pg_database where datname like 'pgque_bench_%'");
  await client.end();
  expect(rows).toEqual([]);
});

test("what does not depend on the machine is what the engine promises", async () => {
  const idle = await microbenchmarkNamed("idle").measure(context, { polls: 200, rounds: 3 });
  expect(idle).toMatchObject({ transactionIds: 0, walBytes: 0 });
  const wal = await microbenchmarkNamed("wal").measure(context, { messages: 400, idleSeconds: 0.1 });
  expect(wal["batched"]).toBeGreaterThan(150);
  expect(wal["batched"]).toBeLessThan(wal["batchedWith"] ?? 0);
  const client = await server.connect("postgres", "test");
  const { rows } = await client.query(
    "select current_setting('autovacuum') as av, current_setting('full_page_writes') as fpw",
  );
  await client.end();
  expect(rows).toEqual([{ av: "on", fpw: "on" }]);
});

test("a microbenchmark that is stopped ends with the reason, and drops its databases", async () => {
  const stop = new AbortController();
  const stopping = { ...context, signal: stop.signal, note: () => stop.abort(new Error("stopped")) };
  await expect(microbenchmarkNamed("send").measure(stopping, least["send"] ?? {})).rejects.toThrow();
  const client = await server.connect("postgres", "test");
  const { rows } = await client.query("select datname from pg_database where datname like 'pgque_bench_%'");
  await client.end();
  expect(rows).toEqual([]);
});
