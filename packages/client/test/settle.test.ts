import { describe, expect, test } from "vitest";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";
import { following } from "./support/ids.ts";

const { database, pgque } = await freshClient();
const jobs = defineQueue("jobs", { maxRetries: 1 });
await pgque.ensure(jobs);
await pgque.subscribe(jobs);

/** The sentence about a value that is no id. */
const noId = (name: string, got: string): string =>
  `expected \`${name}\` to be an id, a decimal string from "0" to "9223372036854775807" or a bigint, got: ${got}`;

async function received(...payloads: unknown[]) {
  await pgque.sendMany(jobs, payloads);
  const batch = await pgque.receive(jobs);
  expect(batch.messages.map((m) => m.payload)).toEqual(payloads);
  const ids = batch.messages.map((m) => m.id);
  const [a = "0", b = "0", c = "0"] = ids;
  return { batch, id: batch.id ?? "0", ids, a, b, c };
}

/** Payload and attempt of everything that can be received, acked. */
async function drain(): Promise<[unknown, number][]> {
  const batch = await pgque.receive(jobs);
  await batch.ack();
  return batch.messages.map((m) => [m.payload, m.attempt]);
}

test("ack of some leaves the batch open until all are settled", async () => {
  const { id, a, b } = await received("a", "b");
  expect(await pgque.ack(id, [a])).toBe(true);
  expect(await pgque.ack(id, [a])).toBe(true);
  expect(await pgque.ack(id, [b])).toBe(true);
  expect(await pgque.ack(id)).toBe(false);
});

test("ack and settle of a batch that is unknown or finished say false", async () => {
  const { id, ids } = await received("a");
  expect(await pgque.ack(id)).toBe(true);
  expect(await pgque.ack(id)).toBe(false);
  expect(await pgque.ack(id, ids)).toBe(false);
  expect(await pgque.settle(id)).toBe(false);
  expect(await pgque.settle(id, { release: ids })).toBe(false);
  expect(await pgque.nack(id, ids)).toBe(0);
  expect(await pgque.ack("123")).toBe(false);
  expect(await drain()).toEqual([]);
});

test("nack gives messages back after a delay, one attempt further", async () => {
  const { batch, id, a, b } = await received("a", "b", "c");
  expect(await pgque.nack(id, [a], { retryAfterMs: 0 })).toBe(1);
  expect(await batch.nack([a, b], { retryAfterMs: 3_600_000, reason: "later" })).toBe(1);
  expect(await batch.ack()).toBe(true);
  expect(await drain()).toEqual([["a", 2]]);
  const { rows } = await database
    .pool()
    .query("select payload, extract(epoch from due_at - now())::int as seconds from pgque.delayed_soon_0");
  expect(rows).toEqual([{ payload: '"b"', seconds: expect.toSatisfy((s: number) => s > 3500 && s <= 3600) }]);
});

test("settle retries, releases and acks in one call; a message without attempts left becomes a dead letter", async () => {
  const { id, a, b } = await received("a", "b", "c");
  const retry = [{ id: a, afterMs: 0, reason: "first failure" }];
  expect(await pgque.settle(id, { retry, release: [b] })).toBe(true);

  const again = await pgque.receive(jobs);
  expect(new Map(again.messages.map((m) => [m.id, m.attempt]))).toEqual(
    new Map([
      [a, 2],
      [b, 1],
    ]),
  );
  expect(await again.settle({ retry: [{ id: a, afterMs: 0.4, reason: "second failure" }] })).toBe(true);
  expect(await drain()).toEqual([]);
  const { rows } = await database.pool().query("select message_id::text, attempt, reason from pgque.dead_letter");
  expect(rows).toEqual([{ message_id: a, attempt: 2, reason: "second failure" }]);
});

test("settle snoozes some, without using an attempt, and makes dead letters of some at once", async () => {
  const { batch, a, b, c } = await received("a", "b", "c", "d");
  const dead = [{ id: b, reason: "hopeless \0" }, { id: c }];
  expect(await batch.settle({ snooze: [{ id: a, afterMs: 0 }], dead })).toBe(true);
  expect([...batch.outcomes]).toEqual([
    [a, "snoozed"],
    [b, "dead"],
    [c, "dead"],
    [following(c), "acked"],
  ]);
  expect(await drain()).toEqual([["a", 1]]);
  expect(
    (await pgque.deadLetters.list(jobs)).slice(0, 2).map(({ payload, attempt, reason }) => [payload, attempt, reason]),
  ).toEqual(
    expect.arrayContaining([
      ["b", 1, "hopeless \u{FFFD}"],
      ["c", 1, null],
    ]),
  );
});

test("snooze and bury leave the batch open for the others", async () => {
  const { batch, id, a, b, c } = await received("a", "b", "c", "d", "e");
  expect(await batch.snooze([a, a], 0)).toBe(1);
  expect(await pgque.snooze(id, [a, b], 0)).toBe(1);
  expect(await batch.bury([a, c], "hopeless")).toBe(1);
  expect(await pgque.bury(id, [c])).toBe(0);
  expect(batch.outcomes.get(a)).toBe("snoozed");
  expect(batch.outcomes.get(c)).toBe("dead");
  expect(await batch.ack()).toBe(true);
  expect(new Map(await drain())).toEqual(
    new Map<unknown, number>([
      ["a", 1],
      ["b", 1],
    ]),
  );
  expect(await batch.snooze([a], 0)).toBe(0);
  expect(await batch.bury([a])).toBe(0);
});

test("a message in two lists is refused, and nothing is settled", async () => {
  const { batch, a } = await received("a");
  const error = await failure(batch.settle({ snooze: [{ id: a, afterMs: 0 }], dead: [{ id: a }] }));
  expect([error.code, error.message]).toEqual(["INVALID_ARGUMENT", expect.stringContaining(`more than once: ${a}`)]);
  expect(await batch.ack()).toBe(true);
});

test("a batch refuses what it does not know, rather than ack it", async () => {
  const { batch } = await received("a");
  expect((await failure(batch.settle({ retries: [] } as never))).code).toBe("INVALID_OPTION");
  expect(await batch.ack()).toBe(true);
});

test("what is no option or no list of ids is refused, by id and through the batch, and nothing is settled", async () => {
  const { batch, id, a } = await received("a");
  const wrong = [null, 5, "a", [a], { retry: "all" }, { retry: [null] }, { release: 1 }, { retryMs: 5 }] as never[];
  for (const options of wrong) {
    for (const call of [
      () => pgque.settle(id, options),
      () => batch.settle(options),
      () => batch.release(options),
      () => pgque.nack(id, [a], options),
      () => batch.nack([a], options),
    ])
      expect((await failure(call)).code).toBe("INVALID_OPTION");
  }
  for (const ids of [null, 0, "", [Number(a)]] as never[]) {
    for (const call of [() => pgque.ack(id, ids), () => pgque.ackStrict(id, ids), () => batch.ack(ids)])
      expect((await failure(call)).message).toMatch(/expected `messageIds(\[0\])?` to be an (array of ids|id), /);
  }
  expect(batch.open).toEqual([a]);
  expect(await batch.ack()).toBe(true);
});

test("a message that is not in the batch is an error", async () => {
  const { id, batch, a } = await received("a");
  for (const work of [
    () => pgque.ack(id, [a, following(a)]),
    () => pgque.nack(id, [following(a)]),
    () => pgque.settle(id, { release: [following(a)] }),
    () => pgque.settle(id, { dead: [{ id: following(a) }] }),
    () => pgque.snooze(id, [following(a)], 0),
    () => pgque.bury(id, [following(a)]),
  ]) {
    const error = await failure(work());
    expect(error.code).toBe("NOT_IN_BATCH");
    expect(error.message).toContain(following(a));
  }
  expect(await batch.ack()).toBe(true);
});

describe("a lease", () => {
  test("that ended is lost: the message is delivered again, the late ack says false", async () => {
    await pgque.send(jobs, "slow");
    const late = await pgque.receive(jobs, { leaseMs: 1, worker: "w1" });
    await expect.poll(() => pgque.maintain(jobs)).toBeGreaterThan(0);
    expect(await late.ack()).toBe(false);
    expect(await drain()).toEqual([["slow", 2]]);
  });

  test("is kept by the heartbeat of its worker", async () => {
    await pgque.send(jobs, "kept");
    await pgque.runtime.heartbeat("w2", 60_000);
    const batch = await pgque.receive(jobs, { leaseMs: 1, worker: "w2" });
    await expect.poll(async () => Date.now() > Number(batch.leasedUntil) + 5).toBe(true);
    await pgque.maintain();
    expect(await batch.ack()).toBe(true);
  });
});

describe("bad arguments are refused before anything is sent", () => {
  const q = defineQueue("jobs");
  test.for<[string, () => Promise<unknown>, string[]]>([
    [
      "receive",
      () => pgque.receive(q, { max: 0, leaseMs: 604_800_001, consumer: "", worker: 5 as never }),
      [
        "expected `max` to be an integer from 1 to 100000, got: 0",
        "expected `leaseMs` to be an integer from 1 to 604800000, got: 604800001",
        "expected `consumer` to have 1 to 57 bytes of UTF-8, got: 0 bytes in ''",
        "expected `worker` to be a string, got: 5",
      ],
    ],
    [
      "send",
      () => pgque.send(q, 1, { headers: [], type: "\0", delay: 5 } as never),
      [
        "expected `headers` to be a plain object, got: []",
        "expected `type` to be without U+0000, got: '\\x00'",
        "unknown option `delay`, known: headers, type, delayMs, at, priority, key, ttlMs, expiresAt, maxRetries, timeoutMs, retryMinMs, resultTtlMs, dedupeKey, dedupeTtlMs, ifWaiting, signal",
      ],
    ],
    ["sendMany", () => pgque.sendMany(q, "ab" as never), ["expected `payloads` to be an array, got: 'ab'"]],
    [
      "subscribe",
      () => pgque.subscribe(q, "c".repeat(58), { from: "now" as never }),
      [
        `expected \`consumer\` to have 1 to 57 bytes of UTF-8, got: 58 bytes in '${"c".repeat(58)}'`,
        `expected \`from\` to be "earliest", "latest" or a valid Date, got: 'now'`,
      ],
    ],
    ["unsubscribe", () => pgque.unsubscribe(q, 1 as never), ["expected `consumer` to be a string, got: 1"]],
    [
      "ack",
      () => pgque.ack(-1n, ["1", 2 ** 53] as never),
      [noId("batchId", "-1n"), noId("messageIds[1]", "9007199254740992")],
    ],
    [
      "nack",
      () => pgque.nack("1", ["1"], { retryAfterMs: -1, reason: new Error("x") as never }),
      [
        "expected `retryAfterMs` to be a number from 0 to 3153600000000, got: -1",
        expect.stringContaining("expected `reason` to be a string, got: "),
      ],
    ],
    [
      "settle",
      () =>
        pgque.settle("1", {
          retry: [{ id: "1", afterMs: Number.NaN }, {}, null, { id: "1", afterMs: 0, delay: 5 }] as never,
          release: null as never,
          retries: [],
        } as never),
      [
        "expected `release` to be an array of ids, got: null",
        "unknown option `retries`, known: retry, release, snooze, dead, signal",
        "retry[0]: expected `afterMs` to be a number from 0 to 3153600000000, got: NaN",
        `retry[1]: ${noId("id", "null")}`,
        "retry[1]: expected `afterMs` to be a number from 0 to 3153600000000, got: null",
        "retry[2]: expected `options` to be an object, got: null",
        "retry[3]: unknown option `delay`, known: id, afterMs, reason",
      ],
    ],
    [
      "settle of what is no list",
      () => pgque.settle("1", { retry: 5 as never, snooze: "1" as never, dead: null as never }),
      [
        "expected `retry` to be an array, got: 5",
        "expected `snooze` to be an array, got: '1'",
        "expected `dead` to be an array, got: null",
      ],
    ],
    [
      "settle of what is snoozed or dead",
      () =>
        pgque.settle("1", {
          snooze: [{ id: "1" }, { id: "2", afterMs: 1, reason: "x" }] as never,
          dead: [{ id: 1, reason: 5 }] as never,
        }),
      [
        "snooze[0]: expected `afterMs` to be a number from 0 to 3153600000000, got: null",
        "snooze[1]: unknown option `reason`, known: id, afterMs",
        `dead[0]: ${noId("id", "1")}`,
        "dead[0]: expected `reason` to be a string, got: 5",
      ],
    ],
    [
      "snooze",
      () => pgque.snooze("01", ["9223372036854775808"], undefined as never),
      [
        noId("batchId", "'01'"),
        noId("messageIds[0]", "'9223372036854775808'"),
        "expected `afterMs` to be a number from 0 to 3153600000000, got: null",
      ],
    ],
    [
      "bury",
      () => pgque.bury("1", "1" as never, 5 as never),
      ["expected `messageIds` to be an array of ids, got: '1'", "expected `reason` to be a string, got: 5"],
    ],
    [
      "heartbeat",
      () => pgque.runtime.heartbeat("w", 0),
      ["expected `ttlMs` to be an integer from 1 to 86400000, got: 0"],
    ],
  ])("%s", async ([, call, problems]) => {
    const error = await failure(call());
    expect(error.code).toBe("INVALID_OPTION");
    expect(error.details.problems).toEqual(problems);
  });
});

test("an id may be given as a bigint, wherever it is given", async () => {
  const own = defineQueue("bigints");
  await pgque.ensure(own);
  await pgque.subscribe(own);
  await pgque.sendMany(own, [1, 2, 3, 4, 5]);
  const batch = await pgque.receive(own);
  const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n] = batch.messages.map(({ id }) => BigInt(id));
  expect(await batch.ack([a])).toBe(true);
  expect(batch.open.map(BigInt)).toEqual([b, c, d, e]);
  expect(await pgque.bury(BigInt(batch.id ?? "0"), [b], "no")).toBe(1);
  expect(await pgque.messages.find(own, c)).toMatchObject([{ id: String(c) }]);
  expect(await batch.settle({ release: [c], dead: [{ id: d }], snooze: [{ id: e, afterMs: 0 }] })).toBe(true);
  expect((await pgque.deadLetters.list(own)).map(({ messageId }) => messageId).toSorted()).toEqual([b, d].map(String));
  const [letter] = await pgque.deadLetters.list(own);
  expect(await pgque.deadLetters.purge(own, { ids: [BigInt(letter?.id ?? "0")] })).toBe(1);
});
