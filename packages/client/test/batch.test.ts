import type { Pool } from "pg";
import { describe, expect, test } from "vitest";
import { defineQueue, Pgque, type Batch } from "@pgque/client";
import { until } from "../../../test/support/until.ts";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const jobs = defineQueue("jobs", { rotationBytes: 1_000_000_000 });
await pgque.ensure(jobs);
await pgque.subscribe(jobs);

/** Puts itself around each statement that is run on the pool from now on. */
function around(pool: Pool, run: (query: () => Promise<unknown>) => Promise<unknown>): void {
  const seen = new WeakSet<object>();
  pool.on("acquire", (client) => {
    if (seen.has(client)) return;
    seen.add(client);
    const query = client.query.bind(client) as (statement: never) => Promise<unknown>;
    client.query = ((statement: never) => run(() => query(statement))) as typeof client.query;
  });
}

async function received(payloads: unknown[], leaseMs = 30_000): Promise<{ batch: Batch; ids: string[] }> {
  await pgque.sendMany(jobs, payloads);
  const batch = await pgque.receive(jobs, { leaseMs });
  return { batch, ids: batch.messages.map((m) => m.id) };
}

async function drain(): Promise<[unknown, number][]> {
  const batch = await pgque.receive(jobs);
  await batch.ack();
  return batch.messages.map((m) => [m.payload, m.attempt]);
}

test("a batch knows what became of each message", async () => {
  const { batch, ids } = await received(["a", "b", "c", "d"]);
  const [a = "0", b = "0", c = "0", d = "0"] = ids;
  expect([batch.open, batch.isLost]).toEqual([ids, false]);
  await batch.ack([a]);
  await batch.nack([b, a], { retryAfterMs: 0 });
  expect(batch.open).toEqual([c, d]);
  await batch.settle({ release: [d] });
  expect([...batch.outcomes]).toEqual([
    [a, "acked"],
    [b, "retried"],
    [d, "released"],
    [c, "acked"],
  ]);
  expect([batch.open, batch.isLost]).toEqual([[], false]);
  expect(new Map(await drain())).toEqual(
    new Map<unknown, number>([
      ["b", 2],
      ["d", 1],
    ]),
  );
});

test("a batch whose lease was lost says so", async () => {
  const { batch } = await received(["a"], 1);
  expect(await pgque.maintain(jobs)).toBe(1);
  expect(await batch.extend()).toBe(false);
  expect([batch.isLost, batch.open]).toEqual([true, []]);
  expect(await batch.release()).toBe(false);
  expect(await batch.ack()).toBe(false);
  expect(await drain()).toEqual([["a", 2]]);
});

test("of calls at the same time, one that comes too late does not say that the batch is lost", async () => {
  const own = new Pgque(database.pool());
  await pgque.sendMany(jobs, ["a", "b"]);
  const batch = await own.receive(jobs);
  const begun = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const acked = Promise.withResolvers<void>();
  // the answer to the first is longer on its way than that to the second
  let calls = 0;
  around(own.pool, async (query) => {
    calls += 1;
    if (calls === 1) {
      begun.resolve();
      const result = await query();
      acked.resolve();
      await late.promise;
      return result;
    }
    await acked.promise;
    return query().finally(late.resolve);
  });
  const acking = batch.ack();
  await begun.promise;
  expect(await Promise.all([acking, batch.extend()])).toEqual([true, false]);
  expect([batch.isLost, [...batch.outcomes.values()]]).toEqual([false, ["acked", "acked"]]);
});

test("calls at the same time settle one after the other, so that the batch knows what each did", async () => {
  const own = new Pgque(database.pool());
  await pgque.sendMany(jobs, ["a", "b"]);
  const batch = await own.receive(jobs);
  let underWay = 0;
  around(own.pool, (query) => {
    underWay += 1;
    expect(underWay).toBe(1);
    return query().finally(() => (underWay -= 1));
  });
  const [a = "0", b = "0"] = batch.messages.map((m) => m.id);
  const aborter = new AbortController();
  const all = [
    batch.nack([a], { retryAfterMs: 0 }),
    batch.ack(undefined, { signal: aborter.signal }),
    batch.ack(),
    batch.release(),
  ];
  const reason = new Error("no more");
  aborter.abort(reason);
  expect(await Promise.allSettled(all)).toEqual([
    { status: "fulfilled", value: 1 },
    { status: "rejected", reason },
    { status: "fulfilled", value: true },
    { status: "fulfilled", value: true },
  ]);
  expect([...batch.outcomes]).toEqual([
    [a, "retried"],
    [b, "acked"],
  ]);
  expect(await drain()).toEqual([["a", 2]]);
});

test("a batch that is extended outlives its lease", async () => {
  const { batch } = await received(["a"], 1);
  expect(await batch.extend(60_000)).toBe(true);
  expect(await pgque.extend(batch.id ?? "0", 1)).toBe(true);
  expect(await pgque.maintain(jobs)).toBe(0);
  expect(await batch.ack()).toBe(true);
  expect(await pgque.extend(batch.id ?? "0")).toBe(false);
  expect((await failure(pgque.extend("1", 0))).code).toBe("INVALID_OPTION");
});

test("extending one batch does not keep another of the same process", async () => {
  const { batch: kept } = await received(["kept"], 1);
  await received(["left"], 1);
  await kept.extend(60_000);
  expect(await pgque.maintain(jobs)).toBe(1);
  expect(await kept.ack()).toBe(true);
  expect(await drain()).toEqual([["left", 2]]);
});

test("what is left open when the block ends is given back, without using an attempt", async () => {
  await pgque.sendMany(jobs, ["done", "left"]);
  {
    await using batch = await pgque.receive(jobs);
    for (const message of batch) {
      if (message.payload === "done") await batch.ack([message.id]);
    }
  }
  expect(await drain()).toEqual([["left", 1]]);
});

test("nothing received is a batch that needs nothing", async () => {
  await using batch = await pgque.receive(jobs);
  expect([batch.id, [...batch], batch.open]).toEqual([null, [], []]);
  expect([await batch.ack(), await batch.extend(), await batch.release()]).toEqual([true, true, true]);
  expect([await batch.nack(["1"]), await batch.snooze(["1"], 0), await batch.bury(["1"])]).toEqual([0, 0, 0]);
});

test("batches go on until nothing is left, and ack what was gone through", async () => {
  await pgque.sendMany(jobs, [1, 2, 3, 4, 5]);
  const seen: unknown[][] = [];
  for await (const batch of pgque.batches(jobs, { max: 2 })) {
    seen.push([...batch].map((m) => m.payload));
    if (seen.length === 2) await batch.ack();
  }
  expect(seen).toEqual([[1, 2], [3, 4], [5]]);
  expect(await drain()).toEqual([]);
});

test("a loop does not ack what a call that it did not wait for gives back", async () => {
  await pgque.sendMany(jobs, [1, 2]);
  const seen: unknown[] = [];
  for await (const batch of pgque.batches(jobs)) {
    const [first] = batch.messages;
    if (first?.attempt === 1) void batch.nack([first.id], { retryAfterMs: 0 });
    seen.push([...batch].map(({ payload, attempt }) => [payload, attempt]));
  }
  expect(seen).toEqual([
    [
      [1, 1],
      [2, 1],
    ],
    [[1, 2]],
  ]);
  expect(await drain()).toEqual([]);
});

describe("consume", () => {
  test("waits for more, and ends after the ack of its last batch when it is aborted", async () => {
    const stop = new AbortController();
    const seen: unknown[] = [];
    await pgque.send(jobs, 1);
    for await (const batch of pgque.consume(jobs, { signal: stop.signal, pollMinMs: 1, pollMaxMs: 5 })) {
      seen.push(...[...batch].map(({ payload }) => payload));
      if (seen.length < 3) setTimeout(() => void pgque.send(jobs, seen.length + 1), 20);
      else stop.abort();
    }
    expect(seen).toEqual([1, 2, 3]);
    expect(await drain()).toEqual([]);
  });

  test("ends while it waits for messages, or for its turn to receive, and then acks what it had finished", async () => {
    const stop = new AbortController();
    await pgque.sendMany(jobs, [1, 2]);
    const other = await database.connect();
    const loop = pgque.consume(jobs, { signal: stop.signal, max: 1 });
    expect((await loop.next()).value?.messages[0]?.payload).toBe(1);
    await other.query("begin");
    const held = await pgque.inTransaction(other).receive(jobs, { max: 1 });
    expect(held.messages[0]?.payload).toBe(2);
    const next = loop.next();
    const waiting =
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%next_messages(finished%'";
    await until(async () => (await pgque.pool.query(waiting)).rowCount === 1, "the receive waits");
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    await other.query("rollback");
    expect((await drain()).map(([payload]) => payload)).toEqual([2]);

    const again = new AbortController();
    const waits = pgque.consume(jobs, { signal: again.signal, pollMinMs: 60_000, pollMaxMs: 60_000 }).next();
    again.abort();
    expect(await waits).toEqual({ done: true, value: undefined });
  });

  test("refuses what is no option, and throws what a receive throws", async () => {
    await expect(pgque.consume(jobs, { pollMinMs: 0 }).next()).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(pgque.consume(jobs, { consumer: "nobody" }).next()).rejects.toMatchObject({
      code: "CONSUMER_NOT_FOUND",
    });
  });
});

test("a loop that is left gives back what is open of its batch", async () => {
  await pgque.sendMany(jobs, [1, 2, 3]);
  for await (const batch of pgque.batches(jobs, { max: 2 })) {
    await batch.ack([batch.messages[0]?.id ?? "0"]);
    break;
  }
  const failing = async () => {
    for await (const batch of pgque.batches(jobs, { max: 1 })) throw new Error(`cannot do ${batch.messages.length}`);
  };
  await expect(failing()).rejects.toThrow("cannot do 1");
  expect(new Map(await drain())).toEqual(
    new Map<unknown, number>([
      [2, 1],
      [3, 1],
    ]),
  );
});

test("a client of the application's is enough to send and receive", async () => {
  const own = new Pgque(await database.connect());
  await own.send(jobs, "by client");
  expect((await own.receive(jobs)).messages.map((m) => m.payload)).toEqual(["by client"]);
  const error = await failure(() => own.pool);
  expect([error.code, error.message]).toEqual([
    "INVALID_OPTION",
    expect.stringContaining("expected a Pgque with a pool"),
  ]);
  await own.close();
  expect(await own.maintain()).toBeTypeOf("number");
});
