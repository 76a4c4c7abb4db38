import { fork, type ChildProcess } from "node:child_process";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type RedisClientType } from "@redis/client";
import { defineQueue, Pgque } from "@pgque/client";
import { redisSink, relay } from "@pgque/relay";
import { expect, onTestFinished, test } from "vitest";
import { updatesAndDeletes } from "../../../sql/test/support/statistics.ts";
import { ownServer } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { startRedis, type Redis } from "../../../test/services/redis.ts";

async function readerOf({ url }: Redis): Promise<RedisClientType> {
  const reader: RedisClientType = createClient({ url });
  reader.on("error", () => undefined);
  await reader.connect();
  onTestFinished(() => reader.destroy());
  return reader;
}

test("a hundred kills of relay, Redis and PostgreSQL: each message is in the stream once, in the order of its key", async () => {
  await using server = await ownServer();
  await using redis = await startRedis({ durable: true });
  const queue = defineQueue("orders", { retentionMs: 3_600_000 });
  await using pgque = new Pgque(server.url, { retryForMs: 60_000 });
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "to-redis", { mode: "exclusive" });

  const relays: ChildProcess[] = [];
  const start = (): void => {
    const env = { ...process.env, DATABASE_URL: server.url, REDIS_URL: redis.url };
    relays.push(fork(path.join(import.meta.dirname, "support/relay-to-redis.ts"), { env, stdio: "ignore" }));
  };
  onTestFinished(() => {
    for (const one of relays) one.kill("SIGKILL");
  });
  start();

  const sent: string[] = [];
  const phase = { sending: true };
  const sending = (async () => {
    for (let n = 0; phase.sending; n += 1) {
      const payloads = Array.from({ length: 1 + (n % 40) }, (_, i) => ({ key: i % 5, n }));
      // the key makes a send whose answer was lost one that is known
      const dedupeKeys = payloads.map((_, i) => `${n}-${i}`);
      const ids = await pgque.sendMany(queue, payloads, { dedupeKeys });
      sent.push(...ids.map(({ id }) => id));
      await pause(5);
    }
  })();
  sending.catch(() => undefined);
  for (let n = 0; n < 100; n += 1) {
    await pause(Math.random() * 300);
    if (n % 5 === 3) await redis.crash();
    else if (n % 25 === 4) await server.server.restart({ immediate: true });
    else {
      // sometimes the next one begins while the one before is still there
      const [before] = relays.splice(0, 1);
      if (Math.random() < 0.5) start();
      before?.kill("SIGKILL");
      while (relays.length === 0) start();
    }
  }
  phase.sending = false;
  await sending;

  const reader = await readerOf(redis);
  if (relays.every(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)) start();
  await until(async () => (await reader.xLen("orders")) >= sent.length, "all are in the stream", 60_000);
  const entries = (await reader.xRange("orders", "-", "+")) ?? [];
  const ids = entries.map(({ message }) => String(message["id"]));
  expect(ids.length).toBeGreaterThan(1000);
  expect(new Set(ids).size, "none twice").toBe(ids.length);
  expect(ids.toSorted()).toEqual(sent.toSorted());
  const last = new Map<number, number>();
  for (const { message } of entries) {
    const { key, n } = JSON.parse(String(message["payload"])) as { key: number; n: number };
    expect(n, "in order").toBeGreaterThanOrEqual(last.get(key) ?? 0);
    last.set(key, n);
  }
  const admin = await server.connect();
  expect(await updatesAndDeletes(admin)).toEqual([]);
  expect(await pgque.deadLetters.list(queue)).toEqual([]);
});

test("of two relays of one name the first is fenced, and a Redis that has forgotten everything is written to", async () => {
  await using server = await ownServer();
  await using redis = await startRedis();
  await using pgque = new Pgque(server.url);
  await pgque.ensure("orders");
  const sink = () => redisSink({ url: redis.url, stream: "{eu}orders", maxLength: 100 });
  const first = await relay(pgque, "orders", await sink(), { name: "r" });
  await pgque.send("orders", 1);
  await until(() => first.relayed === 1, "it relays");
  const reader = await readerOf(redis);
  const epoch = () => reader.hGet("{eu}:pgque:relay:r", "epoch");
  const before = await epoch();
  const second = await relay(pgque, "orders", await sink(), { name: "r" });
  await until(async () => (await epoch()) !== before, "the second has taken over");
  await second.stop();
  await pgque.send("orders", 2);
  await expect(first.ended).rejects.toThrow("has taken over");

  await reader.flushAll();
  await using third = await relay(pgque, "orders", await sink(), { name: "r" });
  await until(() => third.relayed === 1, "what the first left");
  await reader.flushAll();
  await pgque.send("orders", { after: "the flood" });
  await until(() => third.relayed === 2, "it is written");
  const [entry] = (await reader.xRange("{eu}orders", "-", "+")) ?? [];
  expect(entry?.message).toMatchObject({ type: "default", payload: '{"after":"the flood"}', id: expect.any(String) });
  expect((await reader.keys("*")).toSorted()).toEqual(["{eu}:pgque:relay:r", "{eu}orders"]);
});

test("the ids of a queue that is made anew are not taken for those of the one before", async () => {
  await using server = await ownServer();
  await using redis = await startRedis();
  await using pgque = new Pgque(server.url);
  for (const payload of ["first", "second"]) {
    await pgque.ensure("orders");
    await using running = await relay(pgque, "orders", await redisSink({ url: redis.url, stream: "s" }), { name: "r" });
    await pgque.send("orders", payload);
    await until(() => running.relayed === 1, "it is relayed");
    await running.stop();
    await pgque.queues.drop("orders", { force: true });
  }
  const reader = await readerOf(redis);
  expect((await reader.xRange("s", "-", "+"))?.map(({ message }) => message["payload"])).toEqual([
    '"first"',
    '"second"',
  ]);
});
