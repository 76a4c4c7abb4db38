import { types } from "pg";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const orders = defineQueue("orders", { payload: z.object({ orderId: z.number().int() }) });
await pgque.ensure(orders);
await pgque.subscribe(orders);

describe("a message", () => {
  test("is received as it was sent, and not again once it is acked", async () => {
    const before = Date.now();
    const { id } = await pgque.send(
      orders,
      { orderId: 42 },
      { headers: { trace: "t-1", depth: { n: 1 } }, type: "created" },
    );
    const batch = await pgque.receive(orders);

    expect(id).toMatch(/^\d+$/);
    expect(batch.messages).toEqual([
      {
        id,
        batchId: batch.id,
        attempt: 1,
        type: "created",
        payload: { orderId: 42 },
        headers: { trace: "t-1", depth: { n: 1 } },
        createdAt: expect.any(Date),
        priority: null,
        key: null,
        crashes: 0,
      },
    ]);
    expect(batch.messages[0]?.createdAt.getTime()).toBeGreaterThan(before - 60_000);
    expect(batch.leasedUntil?.getTime()).toBeGreaterThan(Date.now());
    expect(await batch.ack()).toBe(true);
    expect((await pgque.receive(orders)).messages).toEqual([]);
  });

  test("has type default and no headers unless they are given", async () => {
    await pgque.send(orders, { orderId: 1 });
    const batch = await pgque.receive(orders);
    expect(batch.messages).toMatchObject([{ type: "default", headers: {} }]);
    await batch.ack();
  });

  test("keeps a date in its headers as JSON has it", async () => {
    await pgque.send(orders, { orderId: 1 }, { headers: { at: new Date(0) } });
    const batch = await pgque.receive(orders);
    expect(batch.messages[0]?.headers).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    await batch.ack();
  });

  test("has ids that are exact beyond 2^53", async () => {
    await database.pool().query("select setval('pgque.message_seq_1', 9007199254740993)");
    expect(await pgque.send(orders, { orderId: 1 })).toEqual({ id: "9007199254740994", deduplicated: false });
    const batch = await pgque.receive(orders);
    expect(batch.messages.map((m) => m.id)).toEqual(["9007199254740994"]);
    expect(await batch.ack(batch.messages.map((m) => m.id))).toBe(true);
  });

  test("is JSON as it is: its ids are strings", async () => {
    const { id } = await pgque.send(orders, { orderId: 1 });
    const batch = await pgque.receive(orders);
    const [message] = JSON.parse(JSON.stringify(batch.messages));
    expect(message).toMatchObject({ id, batchId: batch.id, payload: { orderId: 1 } });
    await batch.ack();
  });

  test("is read the same whatever type parsers the process has, and none of them is changed", async () => {
    const { builtins } = types;
    const oids = [builtins.INT4, builtins.INT8, builtins.TIMESTAMPTZ, builtins.JSONB];
    const before = oids.map((oid) => types.getTypeParser(oid, "text"));
    for (const oid of oids) types.setTypeParser(oid, (value) => value);
    const ours = oids.map((oid) => types.getTypeParser(oid, "text"));
    try {
      const [sent] = await pgque.sendMany(orders, [{ orderId: 5 }], { headers: { n: 1 } });
      const batch = await pgque.receive(orders);
      expect(batch.messages).toMatchObject([
        { id: sent?.id, attempt: 1, headers: { n: 1 }, createdAt: expect.any(Date) },
      ]);
      expect(await batch.ack()).toBe(true);
      expect(oids.map((oid) => types.getTypeParser(oid, "text"))).toEqual(ours);
    } finally {
      for (const [i, oid] of oids.entries()) types.setTypeParser(oid, before[i] ?? String);
    }
  });
});

describe("sendMany", () => {
  test("returns the ids in the order of the payloads, and they are received in it", async () => {
    const payloads = Array.from({ length: 250 }, (_, orderId) => ({ orderId }));
    const sent = await pgque.sendMany(orders, payloads, { type: "bulk", headers: { run: 1 } });
    const ids = sent.map(({ id }) => id);
    const batch = await pgque.receive(orders, { max: 1000 });

    expect(ids).toHaveLength(250);
    expect(batch.messages.map((m) => [m.id, m.payload.orderId])).toEqual(ids.map((id, i) => [id, i]));
    expect(batch.messages.every((m) => m.type === "bulk" && m.headers["run"] === 1)).toBe(true);
    await batch.ack();
  });

  test("of nothing sends nothing", async () => {
    expect(await pgque.sendMany(orders, [])).toEqual([]);
    expect((await pgque.receive(orders)).id).toBeNull();
  });

  test("of something bad sends none", async () => {
    const error = await failure(pgque.sendMany(orders, [{ orderId: 1 }, { orderId: 1.5 }, { orderId: "x" as never }]));
    expect(error.code).toBe("PAYLOAD_INVALID");
    expect(error.details.issues?.map((issue) => issue.path)).toEqual(["[1].orderId", "[2].orderId"]);
    expect((await pgque.receive(orders)).messages).toEqual([]);
  });
});

describe("receive", () => {
  test("of an empty queue is an empty batch whose methods do nothing", async () => {
    const batch = await pgque.receive(orders);
    expect(batch).toMatchObject({ id: null, messages: [], invalid: [], leasedUntil: null });
    expect(await batch.ack()).toBe(true);
    expect(await batch.settle()).toBe(true);
    expect(await batch.nack(["1"])).toBe(0);
  });

  test("takes at most max messages", async () => {
    await pgque.sendMany(orders, [{ orderId: 1 }, { orderId: 2 }, { orderId: 3 }]);
    const sizes: number[] = [];
    for (let i = 0; i < 2; i++) {
      const batch = await pgque.receive(orders, { max: 2 });
      sizes.push(batch.messages.length);
      await batch.ack();
    }
    expect(sizes).toEqual([2, 1]);
  });

  test("gives every consumer every message", async () => {
    expect(await pgque.subscribe(orders, "audit", { from: "latest" })).toMatchObject({ created: true });
    expect(await pgque.subscribe(orders, "audit")).toEqual({ created: false, differences: [], skipped: 0 });
    await pgque.send(orders, { orderId: 7 });
    for (const consumer of ["default", "audit"]) {
      const batch = await pgque.receive(orders, { consumer });
      expect(batch.messages.map((m) => m.payload.orderId)).toEqual([7]);
      await batch.ack();
    }
    expect(await pgque.unsubscribe(orders, "audit")).toBe(true);
    expect(await pgque.unsubscribe(orders, "audit")).toBe(false);
    expect((await failure(pgque.receive(orders, { consumer: "audit" }))).code).toBe("CONSUMER_NOT_FOUND");
  });
});

test("an exclusive consumer is given its open batch until that is finished; seek places a consumer anew", async () => {
  const queue = defineQueue("stream");
  await pgque.ensure(queue);
  await pgque.subscribe(queue, "reader", { mode: "exclusive" });
  await pgque.sendMany(queue, [1, 2]);
  const batch = await pgque.receive(queue, { consumer: "reader", max: 1 });
  expect((await pgque.receive(queue, { consumer: "reader" })).id).toBe(batch.id);
  await batch.ack();
  await pgque.consumers.seek(queue, "reader", "earliest");
  const again = await pgque.receive(queue, { consumer: "reader" });
  expect(again.messages.map(({ payload }) => payload)).toEqual([1, 2]);
  await pgque.consumers.seek(queue, "reader", new Date(Date.now() + 60_000));
  expect((await pgque.receive(queue, { consumer: "reader" })).id).toBeNull();
  expect((await failure(pgque.consumers.seek(queue, "nobody", "latest"))).code).toBe("CONSUMER_NOT_FOUND");
  expect((await failure(pgque.consumers.seek(queue, "reader", "soon" as never))).code).toBe("INVALID_OPTION");
});

test("ensure creates a queue once, with its settings", async () => {
  const settings = {
    maxRetries: 2,
    rotationBytes: 8192,
    rotationPeriodMs: 1500,
    rotationMinIntervalMs: 0,
    payloadBytesMax: 10,
  };
  const small = defineQueue("small", settings);
  expect(await pgque.ensure(small)).toEqual({ created: true, differences: [] });
  expect(await pgque.ensure(small)).toEqual({ created: false, differences: [] });
  const { rows } = await database.pool().query(
    `select max_retries, rotation_bytes::int, extract(epoch from rotation_period)::float8 as period,
            extract(epoch from rotation_min_interval)::float8 as min_interval, payload_bytes_max
       from pgque.queue where name = 'small'`,
  );
  expect(rows).toEqual([{ max_retries: 2, rotation_bytes: 8192, period: 1.5, min_interval: 0, payload_bytes_max: 10 }]);

  const error = await failure(pgque.send(small, "nine chars"));
  expect(error.code).toBe("INVALID_ARGUMENT");
  expect(error.message).toBe(
    "payload too large: expected at most 10 bytes, got: 12. " +
      "Store it elsewhere and send a reference, or raise payload_bytes_max of the queue",
  );
});
