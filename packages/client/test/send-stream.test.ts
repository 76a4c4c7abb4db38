import { expect, test } from "vitest";
import { z } from "zod";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
const rows = defineQueue("rows", { payload: z.object({ n: z.number() }) });
await pgque.ensure(rows);
await pgque.subscribe(rows);

async function drain(): Promise<number[]> {
  const received: number[] = [];
  for await (const batch of pgque.batches(rows, { max: 10_000 })) received.push(...[...batch].map((m) => m.payload.n));
  return received;
}

async function* count(to: number, seen?: (n: number) => void): AsyncGenerator<{ n: number }> {
  for (let n = 0; n < to; n += 1) {
    seen?.(n);
    yield { n };
  }
}

const numbers = (to: number): number[] => Array.from({ length: to }, (_, n) => n);

test("everything that the source yields is sent, in its order, and its ids are told", async () => {
  const ids: string[] = [];
  const sent = await pgque.sendStream(rows, count(2500), {
    batchSize: 1000,
    onSent: (batch) => ids.push(...batch.map(({ id }) => id)),
  });
  expect([sent, ids.length, new Set(ids).size]).toEqual([2500, 2500, 2500]);
  expect(await drain()).toEqual(numbers(2500));
});

test("an array, a set and a generator are sources, and so is one that yields nothing", async () => {
  expect(await pgque.sendStream(rows, [{ n: 0 }])).toBe(1);
  expect(await pgque.sendStream(rows, new Set([{ n: 1 }, { n: 2 }]))).toBe(2);
  expect(await pgque.sendStream(rows, [])).toBe(0);
  expect(await drain()).toEqual([0, 1, 2]);
  expect((await failure(pgque.sendStream(rows, "text" as never))).code).toBe("INVALID_OPTION");
});

test("no more is taken from the source than two batches, however slow the database is", async () => {
  const ahead: number[] = [];
  let taken = 0;
  let told = 0;
  await pgque.sendStream(
    rows,
    count(500, (n) => (taken = n + 1)),
    {
      batchSize: 50,
      onSent: async (ids) => {
        // the next statement waits for this, so the source has been read as far as it will be
        for (let turn = 0; turn < 500; turn += 1) await Promise.resolve();
        ahead.push(taken - told);
        told += ids.length;
      },
    },
  );
  expect(Math.max(...ahead)).toBeLessThanOrEqual(101);
  expect(await drain()).toEqual(numbers(500));
});

test("large payloads fill a statement before their number does", async () => {
  const sizes: number[] = [];
  const source = numbers(10).map((n) => ({ n, filler: "x".repeat(1000) }));
  const wide = defineQueue("rows");
  await pgque.sendStream(wide, source, { batchCharsMax: 3000, onSent: (ids) => sizes.push(ids.length) });
  expect(Math.max(...sizes)).toBe(3);
  expect(await drain()).toEqual(numbers(10));
});

test("what a slow source has yielded is sent while it is waited for, however many came at once", async () => {
  const burst = Promise.withResolvers<void>();
  async function* slow() {
    yield* count(3);
    await burst.promise;
    yield { n: 3 };
  }
  let told = 0;
  await pgque.sendStream(rows, slow(), {
    onSent: (ids) => {
      told += ids.length;
      if (told === 3) burst.resolve();
    },
  });
  expect(await drain()).toEqual([0, 1, 2, 3]);
});

test("a payload that does not fit ends it, with its place in the stream; what was told is sent", async () => {
  let told = 0;
  let closed = false;
  async function* source() {
    try {
      yield* count(150);
      yield { n: "none" } as never;
      yield { n: 151 };
    } finally {
      closed = true;
    }
  }
  const error = await failure(
    pgque.sendStream(rows, source(), { batchSize: 100, onSent: (ids) => (told += ids.length) }),
  );
  expect([error.code, error.details.issues?.[0]?.path, closed]).toEqual(["PAYLOAD_INVALID", "[150].n", true]);
  expect(await drain()).toEqual(numbers(told));
});

test("what the source throws comes through, and so does what onSent throws", async () => {
  async function* broken() {
    yield { n: 0 };
    throw new Error("no more rows");
  }
  await expect(pgque.sendStream(rows, broken())).rejects.toThrow("no more rows");
  const full = () => {
    throw new Error("disk full");
  };
  await expect(pgque.sendStream(rows, count(1_000_000), { onSent: full })).rejects.toThrow("disk full");
  await drain();
});

test("a source that fails to end does not hide why it was ended", async () => {
  const ending = () => {
    throw new Error("cannot end");
  };
  const source = { [Symbol.iterator]: () => ({ next: () => ({ done: false, value: { n: "none" } }), return: ending }) };
  expect((await failure(pgque.sendStream(rows, source as never))).code).toBe("PAYLOAD_INVALID");
});

test("what only looks like an iterable is refused", async () => {
  const wrong = { [Symbol.asyncIterator]: undefined, [Symbol.iterator]: 1 };
  expect((await failure(pgque.sendStream(rows, wrong as never))).code).toBe("INVALID_OPTION");
});

test("a statement that fails ends it also while the source is waited for", async () => {
  async function* endless(): AsyncGenerator<{ n: number }> {
    yield { n: 0 };
    await new Promise(() => undefined);
  }
  const error = await failure(pgque.sendStream(defineQueue("not there"), endless()));
  expect(error.code).toBe("QUEUE_NOT_FOUND");
});

test("a signal ends it, also while the source is waited for", async () => {
  const aborter = new AbortController();
  async function* endless(): AsyncGenerator<{ n: number }> {
    yield { n: 0 };
    await new Promise(() => undefined);
  }
  const reason = new Error("enough");
  const streaming = pgque.sendStream(rows, endless(), { signal: aborter.signal, onSent: () => aborter.abort(reason) });
  await expect(streaming).rejects.toBe(reason);
  expect(await drain()).toEqual([0]);
});

test("in the caller's transaction it is sent with it, or not at all", async () => {
  const tx = await database.connect();
  await tx.query("begin");
  expect(await pgque.inTransaction(tx).sendStream(rows, count(1500))).toBe(1500);
  await tx.query("rollback");
  expect(await drain()).toEqual([]);
  await tx.query("begin");
  await pgque.inTransaction(tx).sendStream(rows, count(1500));
  await tx.query("commit");
  expect(await drain()).toEqual(numbers(1500));
});

test("a source may yield one object again and again: each message has the keys of its own moment", async () => {
  const counted = defineQueue("counted", {
    payload: z.object({ n: z.number() }),
    defaults: { dedupeKey: ({ n }) => String(n) },
  });
  await pgque.ensure(counted);
  await pgque.subscribe(counted);
  function* reused(): Generator<{ n: number }> {
    const row = { n: 0 };
    for (; row.n < 50; row.n += 1) yield row;
  }
  expect(await pgque.sendStream(counted, reused(), { batchSize: 20 })).toBe(50);
  const received: number[] = [];
  for await (const batch of pgque.batches(counted)) received.push(...[...batch].map((m) => m.payload.n));
  expect(received).toEqual(numbers(50));
});
