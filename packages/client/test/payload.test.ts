import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();

const anything = defineQueue("anything", { maxRetries: 1 });
await pgque.ensure(anything);
await pgque.subscribe(anything);

describe("a payload that is not JSON is refused, with its place", () => {
  const circular: Record<string, unknown> = { deep: {} };
  circular["deep"] = { list: [circular] };

  test.for<[string, unknown, string, string]>([
    ["a bigint", { a: [1, { b: 2n }] }, "a[1].b", "a bigint is not JSON: send it as a string"],
    ["a circular reference", circular, "deep.list[0]", "a circular reference is not JSON"],
    ["undefined", undefined, "", "undefined is not JSON"],
    ["undefined in an array", { list: [1, undefined] }, "list[1]", "undefined is not JSON"],
    ["a function", { "on click": () => 1 }, '["on click"]', "a function is not JSON"],
    ["a symbol", Symbol("s"), "", "a symbol is not JSON"],
    ["NaN", { n: Number.NaN }, "n", "NaN is not a JSON number"],
    ["a map", { m: new Map([[1, 2]]) }, "m", "a Map is not JSON: it would lose what it holds"],
    [
      "a map with a property",
      { m: Object.assign(new Map([[1, 2]]), { n: 1 }) },
      "m",
      "a Map is not JSON: it would lose what it holds",
    ],
    [
      "an error with a property",
      { e: Object.assign(new Error("no"), { code: 7 }) },
      "e",
      "an Error is not JSON: it would lose what it holds",
    ],
    ["a promise", { p: Promise.resolve(1) }, "p", "a Promise is not JSON: it would lose what it holds"],
    ["binary data", { b: new Uint8Array(2) }, "b", "binary data is not JSON: send it as base64"],
    ["an invalid date", { at: [new Date(Number.NaN)] }, "at[0]", "an invalid date is not JSON"],
  ])("%s", async ([, payload, path, message]) => {
    const error = await failure(pgque.send(anything, payload));
    expect(error.code).toBe("PAYLOAD_NOT_JSON");
    expect(error.details).toMatchObject({ queue: "anything", issues: [{ path, message }] });
    expect(error.message).toBe(
      `expected the payload for queue "anything" to be JSON, got${path && ` at ${path}`}: ${message}`,
    );
  });

  test("in sendMany, with its index", async () => {
    const error = await failure(pgque.sendMany(anything, [1, { a: 2n }]));
    expect(error.details.issues).toMatchObject([{ path: "[1].a" }]);
  });

  test("also when a toJSON of the application throws, or never ends", async () => {
    const broken = {
      toJSON: () => {
        throw new Error("no JSON today");
      },
    };
    expect((await failure(pgque.send(anything, { broken }))).message).toContain("no JSON today");
    let deep: unknown = 1;
    for (let i = 0; i < 50_000; i++) deep = [deep];
    expect((await failure(pgque.send(anything, deep))).code).toBe("PAYLOAD_NOT_JSON");
  });

  test("and so are headers", async () => {
    const error = await failure(pgque.send(anything, 1, { headers: { n: 1n } }));
    expect(error.code).toBe("PAYLOAD_NOT_JSON");
    expect(error.message).toContain("expected the headers for queue");
  });
});

test("toJSON is called once, and the payload has what that call returned", async () => {
  let calls = 0;
  const counted = { toJSON: () => ({ calls: ++calls, ["__proto__"]: { polluted: true } }) };
  await pgque.send(anything, [counted, new Date(0)]);
  await using batch = await pgque.receive(anything);
  expect(JSON.stringify(batch.messages[0]?.payload)).toBe(
    '[{"calls":1,"__proto__":{"polluted":true}},"1970-01-01T00:00:00.000Z"]',
  );
  await batch.ack();
  expect(calls).toBe(1);
});

test("what JSON.stringify makes JSON of is sent as that", async () => {
  const shared = { twice: true };
  const self = new (class {
    value = 1;
    toJSON(): this {
      return this;
    }
  })();
  const sent = { at: new Date(0), left: undefined, shared: [shared, shared], own: { toJSON: () => "mine" }, self };
  await pgque.send(anything, sent);
  await pgque.send(anything, Object.assign(Object.create(null), { bare: 1 }));
  const batch = await pgque.receive(anything);
  await batch.ack();
  expect(batch.messages.map((m) => m.payload)).toEqual([
    { at: "1970-01-01T00:00:00.000Z", shared: [shared, shared], own: "mine", self: { value: 1 } },
    { bare: 1 },
  ]);
});

describe("a schema", () => {
  const bookings = defineQueue("bookings", {
    payload: z.object({
      nights: z.number().int().positive(),
      guests: z.array(z.object({ name: z.string() })),
      room: z.string().default("any"),
    }),
  });

  test("refuses what does not fit: path and reason of each issue", async () => {
    const error = await failure(pgque.send(bookings, { nights: 0, guests: [{ name: 7 as never }] }));
    expect(error.code).toBe("PAYLOAD_INVALID");
    expect(error.details.issues).toMatchObject([
      { path: "nights", message: expect.stringContaining("0") },
      { path: "guests[0].name", message: expect.stringContaining("string") },
    ]);
    expect(error.message).toMatch(
      /^expected a payload that fits the schema of queue "bookings", got: nights: .+; guests\[0\]\.name: .+\. Nothing was sent/,
    );
  });

  test("shows no more than five issues, and knows all", async () => {
    const error = await failure(
      pgque.sendMany(
        bookings,
        Array.from({ length: 9 }, () => ({ nights: 0, guests: [] })),
      ),
    );
    expect(error.message).toContain("; and 4 more");
    expect(error.details.issues).toHaveLength(9);
  });

  test("gives receivers its output: defaults filled, unknown keys gone", async () => {
    await pgque.ensure(bookings);
    await pgque.subscribe(bookings);
    await pgque.send(bookings, { nights: 2, guests: [], extra: 1 } as never);
    const batch = await pgque.receive(bookings);
    expect(batch.messages[0]?.payload).toEqual({ nights: 2, guests: [], room: "any" });
    await batch.ack();
  });

  test("sees a payload as the JSON it will be: a date that could not be read back is refused", async () => {
    const strict = defineQueue("strict dates", { payload: z.object({ at: z.date() }), store: "input" });
    expect((await failure(pgque.send(strict, { at: new Date() }))).details.issues).toMatchObject([{ path: "at" }]);

    const dates = defineQueue("dates", { payload: z.object({ at: z.coerce.date() }) });
    await pgque.ensure(dates);
    await pgque.subscribe(dates);
    await pgque.send(dates, { at: new Date(1) });
    const batch = await pgque.receive(dates);
    expect(batch.messages[0]?.payload).toEqual({ at: new Date(1) });
    await batch.ack();
  });

  test("may be asynchronous, and one that throws refuses", async () => {
    const slow = defineQueue("slow", { payload: z.string().refine(async (s) => s !== "bad", "is bad") });
    expect((await failure(pgque.send(slow, "bad"))).details.issues).toEqual([
      { path: "", code: "custom", message: "is bad" },
    ]);
    const broken = defineQueue("broken", {
      payload: z.string().transform((): string => {
        throw new Error("bug");
      }),
    });
    expect((await failure(pgque.send(broken, "x"))).details.issues).toEqual([
      { path: "", message: "the schema threw: bug" },
    ]);
  });
});

describe("a schema that answers otherwise than the standard says", () => {
  const answers: [string, unknown][] = [
    ["nothing", undefined],
    ["an issue that is none", { issues: [null] }],
    ["issues that are no list", { issues: "bad" }],
    ["a path that is no list", { issues: [{ message: "bad", path: "n" }] }],
    ["a path of nothing", { issues: [{ message: "bad", path: [null] }] }],
  ];
  test.for(answers)("%s: refuses when sent, and is kept apart when received", async ([, answer]) => {
    const odd = defineQueue("anything", {
      payload: { "~standard": { version: 1, vendor: "test", validate: () => answer as never } },
    });
    expect((await failure(pgque.send(odd, 1))).code).toBe("PAYLOAD_INVALID");
    await pgque.send(anything, 1);
    const batch = await pgque.receive(odd);
    expect(batch.invalid.map(({ message, error }) => [message.payload, error.code])).toEqual([[1, "PAYLOAD_INVALID"]]);
    await batch.ack(batch.open);
  });

  test("more issues than a function has room for are told like few", async () => {
    const numbers = defineQueue("anything", { payload: z.array(z.number()) });
    const error = await failure(
      pgque.send(
        numbers,
        Array.from({ length: 200_000 }, () => "one" as never),
      ),
    );
    expect([error.code, error.details.issues?.length]).toEqual(["PAYLOAD_INVALID", 200_000]);
  });
});

describe("a message that does not fit when it is received", () => {
  const strict = defineQueue("anything", { payload: z.object({ n: z.number() }) });

  async function sendMixed(): Promise<void> {
    await pgque.sendMany(anything, [{ n: 1 }, { n: "two" }, { n: 3 }]);
    await database.pool().query("select pgque.send('anything', 'not json')");
    await database.pool().query("select pgque.send('anything', null::text)");
  }

  /** Receives and acks until all that was invalid is a dead letter, not waiting for its delay. */
  async function deadLetters(): Promise<{ id: string; attempt: number; reason: string }[]> {
    const { rows } = await database
      .pool()
      .query("select message_id as id, attempt::int, reason from pgque.dead_letter order by message_id");
    return rows;
  }

  test("is kept apart, with its error, and holds up none of the others", async () => {
    await sendMixed();
    const batch = await pgque.receive(strict);
    expect(batch.messages.map((m) => m.payload.n)).toEqual([1, 3]);
    expect(
      batch.invalid.map(({ message, error }) => [message.payload, error.code, error.details.issues?.[0]?.path]),
    ).toEqual([
      [{ n: "two" }, "PAYLOAD_INVALID", "n"],
      ["not json", "PAYLOAD_NOT_JSON", ""],
      [null, "PAYLOAD_INVALID", ""],
    ]);
    expect(await batch.settle({ retry: batch.invalid.map(({ message }) => ({ id: message.id, afterMs: 0 })) })).toBe(
      true,
    );
  });

  test("comes again after the batch is acked, and ends as a dead letter", async () => {
    // the second and last delivery of what the test above gave back
    const batch = await pgque.receive(strict);
    expect(batch.messages).toEqual([]);
    expect(batch.invalid.map(({ message }) => message.attempt)).toEqual([2, 2, 2]);
    expect(await batch.ack()).toBe(true);
    expect(await deadLetters()).toMatchObject(
      batch.invalid.map(({ message, error }) => ({ id: message.id, attempt: 2, reason: error.message })),
    );
    expect((await pgque.receive(strict)).id).toBeNull();
  });

  test("is a dead letter at once, or comes again at the same attempt, when the caller says so", async () => {
    await sendMixed();
    const batch = await pgque.receive(strict);
    const [first, ...others] = batch.invalid.map(({ message }) => message.id);
    const dead = [{ id: first ?? "0", reason: "nobody will fix it" }];
    expect(await batch.settle({ dead, snooze: others.map((id) => ({ id, afterMs: 0 })) })).toBe(true);
    expect((await deadLetters()).at(-1)).toEqual({ id: String(first), attempt: 1, reason: "nobody will fix it" });
    const again = await pgque.receive(strict);
    expect(again.invalid.map(({ message }) => message.attempt)).toEqual([1, 1]);
    await again.ack(others);
  });

  test("is gone when the caller acks it", async () => {
    await sendMixed();
    const before = (await deadLetters()).length;
    const batch = await pgque.receive(strict);
    expect(await batch.ack(batch.invalid.map(({ message }) => message.id))).toBe(true);
    expect(await batch.ack()).toBe(true);
    expect(await deadLetters()).toHaveLength(before);
    const { rows } = await database.pool().query("select from pgque.delayed_soon_0");
    expect(rows).toEqual([]);
  });

  test("without a schema only text that is no JSON is invalid", async () => {
    await sendMixed();
    const batch = await pgque.receive(anything);
    expect(batch.messages.map((m) => m.payload)).toEqual([{ n: 1 }, { n: "two" }, { n: 3 }, null]);
    expect(batch.invalid.map(({ message }) => message.payload)).toEqual(["not json"]);
    await pgque.ack(batch.id ?? "0");
  });
});
