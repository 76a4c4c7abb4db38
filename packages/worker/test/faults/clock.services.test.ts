import { defineQueue, Pgque } from "@pgque/client";
import { Worker } from "@pgque/worker";
import { expect, test } from "vitest";
import { steppingServer } from "../../../../test/services/clock.ts";
import { until } from "../../../../test/support/until.ts";
import { silent } from "../support/worker.ts";

const [second, hour, day] = [1, 3600, 86_400];

test.each([
  ["seconds", [20 * second, 0, -20 * second, 0]],
  ["hours", [2 * hour, 0, -2 * hour, 0]],
  // past all tables of dedupe keys and runs, which take turns by the day
  ["days", [2 * day, 0, -2 * day, -5 * day, 3 * day, 0]],
])("while the server's clock steps by %s, forwards and back, a worker goes on", async (_, steps) => {
  await using server = await steppingServer();
  const admin = await server.connect();
  const pgque = new Pgque(server.pool());
  const queue = defineQueue("q");
  const rotation = { rotation_bytes: 8192, rotation_min_interval: "100 ms" };
  await admin.query("select pgque.create_queue($1, $2)", [queue.name, rotation]);
  await admin.query(
    `select pgque.subscribe($1, 'limited', '{"mode": "shared", "rate_limit": 100, "rate_period": "1 s"}')`,
    [queue.name],
  );
  await pgque.schedules.set("pulse", queue, "* * * * * *", "pulse", { catchUp: "skip" });
  const handled = new Set<string>();
  const limited = new Set<unknown>();
  let pulses = 0;
  const warnings: string[] = [];
  const worker = new Worker(
    pgque,
    queue,
    ({ payload }) => {
      const text = String(payload);
      if (text === "pulse") pulses += 1;
      else handled.add(text);
    },
    { log: { ...silent, warn: (message) => void warnings.push(message) } },
  );
  await worker.start();

  const sent: string[] = [];
  const settles = async (ahead: number | string): Promise<void> => {
    const pointer = "select pg_sequence_last_value('pgque.segment_pointer_1') as n";
    const before = (await admin.query(pointer)).rows[0].n;
    const payloads = Array.from({ length: 50 }, (__, i) => `${ahead} ${i} ${"x".repeat(200)}`);
    await pgque.sendMany(queue, payloads);
    await pgque.send(queue, `${ahead} delayed`, { delayMs: 500 });
    sent.push(...payloads, `${ahead} delayed`);
    const pulsesBefore = pulses;
    await until(() => sent.every((payload) => handled.has(payload)), `all is handled, the clock ahead by ${ahead}`);
    await until(() => pulses >= pulsesBefore + 2, `the schedule is run, the clock ahead by ${ahead}`);
    await until(async () => {
      const batch = await pgque.receive(queue, { consumer: "limited", max: 100 });
      for (const { payload } of batch.messages) limited.add(payload);
      await batch.ack();
      return sent.every((payload) => limited.has(payload));
    }, `the limited consumer receives, the clock ahead by ${ahead}`);
    // not before: what a consumer has not received keeps its segments, and the pointer may have none to move to
    await until(
      async () => (await admin.query(pointer)).rows[0].n !== before,
      `the ring turns, the clock ahead by ${ahead}`,
    );
  };
  await settles("start");
  const { id: first } = await pgque.send(queue, "once", { dedupeKey: "k", dedupeTtlMs: 30 * day * 1000 });
  for (const [i, ahead] of steps.entries()) {
    server.setAhead(ahead);
    await settles(`${ahead} (${i})`);
    const again = await pgque.send(queue, "twice", { dedupeKey: "k" });
    expect(again, "the key counts").toEqual({ id: first, deduplicated: true });
  }
  await worker.stop();
  expect((await admin.query("select from pgque.dead_letter")).rowCount).toBe(0);
  expect(warnings.join("\n")).toMatch(/clock has stepped back/);
  await pgque.close();
});
