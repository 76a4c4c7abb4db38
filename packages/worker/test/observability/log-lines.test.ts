import { lineOf } from "#src/log";
import * as fc from "fast-check";
import { expect, test } from "vitest";

/** What ends a line: for a terminal, an editor, a collector of logs. */
// eslint-disable-next-line no-control-regex
const lineEnds = /\r\n|[\n\v\f\r\u001C-\u001E\u0085\u2028\u2029]/;
// eslint-disable-next-line no-control-regex
const control = /[\u0000-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/;

/** Text of others, who would like to begin a line, color it or show it in another order. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "\n",
        "\r\n",
        "\u2028",
        "\u2029",
        "\u0085",
        "\v",
        "\f",
        "\u001b[31m",
        "\u009b2J",
        "\u001b]0;x\u0007",
        "\u202e",
        "\0",
        "\ud800",
        "pgque error: forged",
        "\npgque error: forged worker='w'",
        "postgres://u:p@h/d",
      ),
    ),
  )
  .map((parts) => parts.join(""));

const values: fc.Arbitrary<unknown> = fc.oneof(
  hostile,
  hostile.map((text) => new Error(text, { cause: new Error(text) })),
  fc.array(hostile),
  fc.dictionary(hostile, hostile),
  fc.bigInt(),
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
);

test("a call writes one line of its own, whatever strings, names and values come in", () => {
  fc.assert(
    fc.property(hostile, fc.dictionary(hostile, values), (message, fields) => {
      const line = lineOf("warn", message, fields);
      expect(line.startsWith("pgque warn: ")).toBe(true);
      expect(line.split(lineEnds)).toHaveLength(1);
      expect(line).not.toMatch(control);
    }),
    { numRuns: 500 },
  );
});

test("what cannot be shown does not keep the rest from being told", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const throwing = {
    get [Symbol.toStringTag](): string {
      throw new Error("no");
    },
  };
  expect(lineOf("warn", "told", { queue: "q", proxy, throwing })).toMatch(/^pgque warn: told queue='q' proxy=/);
});
