import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineQueue, isPgqueError, type Queue } from "@pgque/client";
import { decodePayload, encodePayloads } from "#src/payload/payload";
import { failure, freshClient } from "./support/client.ts";

const { database, pgque } = await freshClient();
await pgque.ensure("signups");
await pgque.subscribe("signups");

async function stored(id: string): Promise<unknown> {
  const { rows } = await database.pool().query("select payload from pgque.find_message('signups', $1)", [id]);
  return JSON.parse(rows[0].payload);
}

const signup = z.object({ id: z.number(), token: z.string().default(() => crypto.randomUUID()) });
const withSecret = { id: 1, passwordHash: "s3cret" };

test("the schema's output is stored: unknown keys are gone, and a default is the same on every attempt", async () => {
  const signups = defineQueue("signups", { payload: signup });
  const json = await stored((await pgque.send(signups, withSecret)).id);
  expect(json).toEqual({ id: 1, token: expect.any(String) });
  const first = await pgque.receive(signups);
  await first.settle({ retry: first.messages.map(({ id }) => ({ id, afterMs: 0 })) });
  await pgque.maintain();
  const second = await pgque.receive(signups);
  expect(second.messages.map((m) => [m.attempt, m.payload])).toEqual([[2, json]]);
  expect(first.messages[0]?.payload).toEqual(json);
  await second.ack();
});

test('with `store: "input"` the payload is stored as it was given', async () => {
  const signups = defineQueue("signups", { payload: signup, store: "input" });
  expect(await stored((await pgque.send(signups, withSecret)).id)).toEqual(withSecret);
  const batch = await pgque.receive(signups);
  expect(batch.messages[0]?.payload).toEqual({ id: 1, token: expect.any(String) });
  await batch.ack();
});

test("many, streamed and scheduled payloads are stored in the same form", async () => {
  const signups = defineQueue("signups", { payload: signup });
  await pgque.sendMany(signups, [withSecret]);
  await pgque.sendStream(signups, [withSecret]);
  await pgque.schedules.set("daily", signups, "0 0 * * *", withSecret);
  const batch = await pgque.receive("signups");
  const [schedule] = await pgque.schedules.list();
  expect([...batch.messages.map((m) => m.payload), schedule?.payload]).toEqual(
    Array.from({ length: 3 }, () => ({ id: 1, token: expect.any(String) })),
  );
  await batch.ack();
});

test.for<[string, StandardSchemaV1, unknown, string, string]>([
  [
    "it counts up",
    z.object({ n: z.array(z.number().transform((n) => n + 1)) }),
    { n: [1] },
    "n[0]",
    "changes its own output",
  ],
  ["it reads another type", z.string().transform((s) => s.length), "abc", "", "expected string"],
  ["it makes a bigint", z.object({ n: z.coerce.bigint() }), { n: 5 }, "n", "a bigint is not JSON"],
  [
    "it adds a key each time",
    z.record(z.string(), z.number()).transform((r) => ({ ...r, [`k${Object.keys(r).length}`]: 1 })),
    {},
    "",
    "changes its own output",
  ],
])("output that the schema does not read is refused: %s", async ([, payload, value, path, message]) => {
  const queue = defineQueue("signups", { payload } as never);
  const error = await failure(pgque.sendMany(queue, [value]));
  expect(error.code).toBe("PAYLOAD_NOT_REPARSABLE");
  const at = path === "" ? "[0]" : `[0].${path}`;
  expect(error.details.issues).toMatchObject([{ path: at, message: expect.stringContaining(message) }]);
  expect(error.message).toContain(`got: ${at}: `);
  expect(error.message).toContain('Nothing was sent: give defineQueue `store: "input"`');
  expect((await pgque.receive("signups")).messages).toEqual([]);
});

test("a schema that gives members in another order reads its own output", async () => {
  const payload = z.object({ a: z.number(), b: z.number() }).transform(({ a, b }) => (a < 2 ? { b, a } : { a, b }));
  const flips = defineQueue("signups", {
    payload: payload.transform((o) => Object.fromEntries(Object.entries(o).toReversed()) as { a: number; b: number }),
  });
  expect(await stored((await pgque.send(flips, { a: 1, b: 2 })).id)).toEqual({ a: 1, b: 2 });
  await (await pgque.receive("signups")).ack();
});

/** A schema, and input for it. */
interface Sample {
  schema: z.ZodType;
  input: fc.Arbitrary<unknown>;
}

const day = fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
const leaf = fc.constantFrom<Sample>(
  { schema: z.string(), input: fc.string() },
  { schema: z.number(), input: fc.integer() },
  { schema: z.string().trim().toLowerCase(), input: fc.string() },
  { schema: z.coerce.date(), input: day },
  {
    schema: z.codec(z.iso.datetime(), z.date(), { decode: (s) => new Date(s), encode: (d) => d.toISOString() }),
    input: day,
  },
  { schema: z.number().default(7), input: fc.option(fc.integer(), { nil: undefined }) },
  { schema: z.string().transform((s) => s.length), input: fc.string() },
  { schema: z.number().transform((n) => -n), input: fc.integer() },
  { schema: z.string().catch("caught"), input: fc.jsonValue() },
  { schema: z.json(), input: fc.jsonValue() },
);
const sample: fc.Arbitrary<Sample> = fc.letrec<{ any: Sample }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    tie("any").map((of) => ({ schema: z.array(of.schema), input: fc.array(of.input, { maxLength: 3 }) })),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), tie("any"), { minKeys: 1, maxKeys: 4 }).map((members) => ({
      schema: z.object(Object.fromEntries(Object.entries(members).map(([key, of]) => [key, of.schema]))),
      // JSON has no undefined in a list, and an absent member is one that is undefined
      input: fc.record({
        ...Object.fromEntries(Object.entries(members).map(([key, of]) => [key, of.input])),
        SECRET: fc.string(),
      }),
    })),
  ),
})).any;

test("law: what is stored is read as the value that the sender's schema made, or nothing is stored", async () => {
  const seen = { stored: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      sample.chain(({ schema, input }) => fc.tuple(fc.constant(schema), input)),
      async ([schema, input]) => {
        const queue = defineQueue("q", { payload: schema } as never) as Queue;
        let json: string | undefined;
        try {
          [json = ""] = await encodePayloads(queue, "default", [input]);
        } catch (error) {
          if (!isPgqueError(error)) throw error;
          // an array with an undefined member is not JSON
          if (error.code === "PAYLOAD_NOT_REPARSABLE") seen.refused += 1;
          else if (error.code !== "PAYLOAD_NOT_JSON" && error.code !== "PAYLOAD_INVALID") throw error;
          return;
        }
        seen.stored += 1;
        const output = schema.parse(JSON.parse(JSON.stringify(input)));
        expect(await decodePayload(queue, "default", json, 1000)).toEqual({ payload: output });
        expect(json).not.toContain("SECRET");
        const asGiven = defineQueue("q", { payload: schema, store: "input" });
        expect(await encodePayloads(asGiven, "default", [input])).toEqual([JSON.stringify(input)]);
      },
    ),
    { numRuns: 1000 },
  );
  expect(Math.min(seen.stored, seen.refused)).toBeGreaterThan(50);
});
