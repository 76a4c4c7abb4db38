import { inspect } from "node:util";
import { PgqueError, type Message, type PayloadIssue } from "@pgque/client";
import { issuesToLog } from "#src/fetch/payload-mask";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";

const logged = (payload: unknown, issues: readonly PayloadIssue[]): readonly PayloadIssue[] =>
  issuesToLog({ payload } as Message, new PgqueError("PAYLOAD_INVALID", "refused", { details: { issues } }));

const message = (payload: unknown, said: string): string | undefined =>
  logged(payload, [{ path: "", message: said }])[0]?.message;

test.each<[payload: unknown, said: string, shown: string]>([
  [{ card: "4111-1111" }, 'must be a voucher (was "4111-1111")', 'must be a voucher (was "…")'],
  [{ on: true }, "expected string, received true", "expected string, received …"],
  [{ secretKey: 1 }, 'Unrecognized key: "secretKey"', 'Unrecognized key: "…"'],
  [{ cents: 1234567.5 }, "1,234,567.50 is too much", "… is too much"],
  [{ size: 1e21 }, "got 1000000000000000000000", "got …"],
  [["Ada Lovelace"], "no such person: ADA_LOVELACE", "no such person: …"],
  [["Ada Lovelace"], "no such person: adalov...", "no such person: …..."],
  [["Ünïcödé"], "got unicode", "got …"],
  [["hunter2"], "xhunter2y is taken", "… is taken"],
  [["a\nb c d"], 'got "a\\nb c d"', 'got "…"'],
  [[1], "expected at least 10, got 1", "expected at least 10, got …"],
  [
    ["it was expected of a number"],
    "Invalid input: expected number, received string",
    "Invalid input: expected number, received string",
  ],
  [null, "expected string, received null", "expected string, received null"],
])("of %j a log shows %j as %j", (payload, said, shown) => {
  expect(message(payload, said)).toBe(shown);
});

test("paths keep keys that look like names, and no others, nor values", () => {
  const payload = { items: [{ "ada@example.org": 1 }], town: "Hamburg", Hamburg: 2 };
  const issues = ["items[0].price", 'items[0]["ada@example.org"]', "town", "Hamburg"].map((path) => ({
    path,
    message: "is bad",
  }));
  expect(logged(payload, issues).map(({ path }) => path)).toEqual(["items[0].price", 'items[0]["…"]', "town", "…"]);
});

test("the library's own name of an issue is logged with it", () => {
  const { error } = z.object({ orderId: z.number() }).safeParse({ orderId: "secret order" });
  const issues = (error?.issues ?? []).map(({ path, code, message: said }) => ({
    path: path.join("."),
    code,
    message: said,
  }));
  expect(logged({ orderId: "secret order" }, issues)).toEqual([
    { path: "orderId", code: "invalid_type", message: "Invalid input: expected number, received string" },
  ]);
});

test("of thousands of issues the first twenty are logged, and of each a thousand characters", () => {
  const issues = Array.from({ length: 5000 }, () => ({ path: "", message: "x".repeat(5000) }));
  const shown = logged([1], issues);
  expect([shown.length, shown[0]?.message.length]).toEqual([20, 1000]);
});

test("of a payload with very many values no reason is told, and the path of what is not a value", () => {
  const payload = Array.from({ length: 10_001 }, (_, i) => ({ name: `customer ${i}` }));
  const issues = [
    { path: "[3].name", code: "custom", message: "customer 3 is bad" },
    { path: "[3].customer 3", message: "is bad" },
  ];
  expect(logged(payload, issues)).toEqual([
    { path: "[3].name", code: "…", message: "…" },
    { path: "…", message: "…" },
  ]);
});

/** How schemas write a value into a sentence. */
const forms: ((value: string) => string)[] = [
  (value) => value,
  (value) => JSON.stringify(value),
  (value) => inspect(value),
  (value) => `<${value}>${value}`,
  (value) => `x${value}y`,
  (value) => value.split("").join(""),
  (value) => `${value} ${value}`,
];

const scalarsOf = (json: unknown): (string | number | boolean)[] => {
  if (Array.isArray(json)) return json.flatMap(scalarsOf);
  if (typeof json === "object" && json !== null) return Object.values(json).flatMap(scalarsOf);
  return typeof json === "string" || typeof json === "number" || typeof json === "boolean" ? [json] : [];
};

test("no value of a payload that is longer than three characters is in what is logged, whatever a schema says of it", () => {
  const payloads = fc.jsonValue({ depthSize: "small", noUnicodeString: false });
  const words = fc.lorem({ maxCount: 8 });
  fc.assert(
    fc.property(payloads, words, fc.infiniteStream(fc.nat(forms.length - 1)), (payload, said, picks) => {
      const scalars = scalarsOf(payload);
      const written = scalars.map((scalar) => forms[picks.next().value ?? 0]?.(String(scalar)));
      const code = String(scalars[0] ?? "custom");
      const path = scalars.map((scalar) => `["${String(scalar)}"]`).join("");
      const issues = logged(payload, [{ path, code, message: `${said}: ${written.join(", ")}` }]);
      for (const text of issues.flatMap((issue) => [issue.path, issue.code ?? "", issue.message]))
        for (const scalar of scalars.map(String).filter(({ length }) => length > 3)) expect(text).not.toContain(scalar);
    }),
    { numRuns: 500 },
  );
});

test("nor is one in what zod says of random payloads, as it is printed", () => {
  const secret = fc.stringMatching(/^[a-z0-9]{8,20}$/).map((text) => `s3${text}`);
  const payloads = fc.record({
    id: fc.oneof(secret, fc.boolean(), fc.integer({ min: 10_000 })),
    tag: secret,
    list: fc.array(fc.oneof(secret, fc.double({ noNaN: true, noDefaultInfinity: true }))),
    byName: fc.dictionary(secret, fc.oneof(secret, fc.integer())),
  });
  const schema = z.strictObject({
    id: z.number().max(10, { error: ({ input }) => `${Number(input).toLocaleString("en-US")} is above 10` }),
    tag: z.enum(["red"], { error: ({ input }) => `no tag ${String(input).toUpperCase()}` }),
    list: z.array(z.number().refine(() => false, { error: ({ input }) => `not ${JSON.stringify([input])}` })).max(0),
    byName: z.strictObject({}),
  });
  fc.assert(
    fc.property(payloads, (payload) => {
      const issues = (schema.safeParse(payload).error?.issues ?? []).map(({ path, code, message: said }) => ({
        path: path.join("."),
        code,
        message: said,
      }));
      const line = inspect(logged(payload, issues)).toLowerCase();
      const scalars = scalarsOf({ ...payload, keys: Object.keys(payload.byName) }).map((value) =>
        String(value).toLowerCase(),
      );
      for (const scalar of scalars.filter(({ length }) => length > 3)) expect(line).not.toContain(scalar);
    }),
    { numRuns: 200 },
  );
});
