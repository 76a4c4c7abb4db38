import { stripVTControlCharacters } from "node:util";
import type { Logger } from "@pgque/worker";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { lineLogger } from "#src/output/log";
import { workerLog } from "#src/worker/log";

/** What ends a line: for a terminal, an editor, a collector of logs. */
// eslint-disable-next-line no-control-regex
const lineEnds = /\r\n|[\n\v\f\r\u001C-\u001E\u0085\u2028\u2029]/;

/** Text of others, who would like to begin a line of their own. */
const forged = [
  "\n",
  "\r\n",
  "\u2028",
  "\u0085",
  "\u001b[31m",
  "\u009b2J",
  "\u202e",
  '\n{"level":"error","msg":"forged"}',
  "\n[00:00:00.000] ERROR: forged",
  '","level":"fatal","x":"',
];
const hostile = fc
  .array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...forged, "level", "time", "msg")))
  .map((parts) => parts.join(""));
const values = fc.oneof(
  hostile,
  hostile.map((text) => Object.assign(new Error(text), { name: text, code: text })),
  fc.array(hostile),
  fc.dictionary(hostile, fc.dictionary(hostile, hostile)),
);
const names = fc.oneof(hostile, fc.constantFrom("level", "time", "msg", "__proto__"));

/** What one call of a logger writes. */
function written(log: Logger, out: string[], message: string, fields: Record<string, unknown>): string {
  out.length = 0;
  log.warn(message, fields);
  return out.join("");
}

function check(log: Logger, out: string[], law: (text: string) => void): void {
  fc.assert(
    fc.property(hostile, fc.dictionary(names, values), (message, fields) => law(written(log, out, message, fields))),
    { numRuns: 150 },
  );
}

function isOneLineOfJson(text: string): void {
  const lines = text.split(lineEnds);
  expect(lines.filter((line) => line !== "")).toHaveLength(1);
  const line: Record<string, unknown> = JSON.parse(text);
  expect([line["level"], typeof line["msg"]]).toEqual(["warn", "string"]);
  expect(line["time"]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
}

test("a call of the log for programs, a worker's or guard's, writes one line of JSON, with a level and time of its own", async () => {
  const out: string[] = [];
  const log = await workerLog({ logLevel: "debug", logFormat: "json" }, (text) => out.push(text));
  check(log, out, isOneLineOfJson);
});

test("a call of the worker's log for people begins one line, those of its fields are indented", async () => {
  const out: string[] = [];
  const log = await workerLog({ logLevel: "debug", logFormat: "pretty" }, (text) => out.push(text));
  check(log, out, (text) => {
    const [first = "", ...others] = stripVTControlCharacters(text).replace(/\n$/, "").split(lineEnds);
    expect(first).toMatch(/^\[[\d:.]+\] WARN: /);
    for (const line of others) expect(line).toMatch(/^ {2,}|^$/);
  });
});

test("a call of the guard's log for people writes one line", () => {
  const out: string[] = [];
  check(
    lineLogger((line) => out.push(line)),
    out,
    (text) => {
      expect(out).toHaveLength(1);
      expect(text.split(lineEnds)).toHaveLength(1);
      expect(text).toMatch(/^\d{4}-\S+Z warn /);
    },
  );
});
