import { nextRuns } from "@pgque/worker";
import { PgqueError } from "@pgque/client";
import { Times } from "#src/schedule/times";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cronFields, everyMinute, isGapEnd, type Fields, matches, text, zones } from "./support/wall-time.ts";

const runs = (cron: string, timeZone: string, from: string, count: number): string[] =>
  nextRuns(cron, { timeZone, from: new Date(from), count }).map((at) => at.toISOString().slice(5, 16));

describe("in the night in which clocks go forward", () => {
  test.each([
    ["a time that does not exist comes at the end of the gap", "30 2 * * *", "03-29T01:00 03-30T00:30"],
    ["so does one of a list of hours", "30 2,14 * * *", "03-29T01:00 03-29T12:30 03-30T00:30"],
    ["two such times come once", "0,30 2 * * *", "03-29T01:00 03-30T00:00 03-30T00:30"],
    ["an interval goes on", "*/15 * * * *", "03-29T00:15 03-29T00:30 03-29T00:45 03-29T01:00 03-29T01:15"],
    ["every hour is every hour", "0 * * * *", "03-29T01:00 03-29T02:00 03-29T03:00"],
  ])("Europe/Berlin: %s", (_, cron, expected) => {
    expect(runs(cron, "Europe/Berlin", "2026-03-29T00:05Z", expected.split(" ").length).join(" ")).toBe(expected);
  });

  test.each([
    ["30 2 * * *", "03-08T07:00 03-09T06:30"],
    ["*/15 * * * *", "03-08T06:15 03-08T06:30 03-08T06:45 03-08T07:00 03-08T07:15"],
    ["0 * * * *", "03-08T07:00 03-08T08:00"],
  ])("America/New_York: %s", (cron, expected) => {
    expect(runs(cron, "America/New_York", "2026-03-08T06:05Z", expected.split(" ").length).join(" ")).toBe(expected);
  });

  test.each([
    ["a time in the half hour that is missing comes at its end", "15 2 * * *", "10-03T15:30 10-04T15:15"],
    ["the next one is in time", "30 2 * * *", "10-03T15:30 10-04T15:30"],
    ["an interval goes on", "*/15 * * * *", "10-03T15:15 10-03T15:30 10-03T15:45"],
    ["what is left out is left out", "0 * * * *", "10-03T16:00 10-03T17:00"],
  ])("Australia/Lord_Howe: %s", (_, cron, expected) => {
    expect(runs(cron, "Australia/Lord_Howe", "2026-10-03T15:05Z", expected.split(" ").length).join(" ")).toBe(expected);
  });
});

describe("in the night in which clocks go back", () => {
  test.each([
    ["a time that comes twice counts once", "30 2 * * *", "10-25T00:30 10-26T01:30"],
    ["so does one of a list of hours", "30 2,14 * * *", "10-25T00:30 10-25T13:30 10-26T01:30"],
    ["an interval goes on", "*/15 * * * *", "10-25T00:15 10-25T00:30 10-25T00:45 10-25T01:00 10-25T01:15 10-25T01:30"],
    ["every hour is every hour", "0 * * * *", "10-25T01:00 10-25T02:00 10-25T03:00"],
  ])("Europe/Berlin: %s", (_, cron, expected) => {
    expect(runs(cron, "Europe/Berlin", "2026-10-25T00:05Z", expected.split(" ").length).join(" ")).toBe(expected);
  });

  test.each([
    ["30 1 * * *", "11-01T05:30 11-02T06:30"],
    ["*/15 * * * *", "11-01T05:15 11-01T05:30 11-01T05:45 11-01T06:00 11-01T06:15"],
    ["0 * * * *", "11-01T06:00 11-01T07:00 11-01T08:00"],
  ])("America/New_York: %s", (cron, expected) => {
    expect(runs(cron, "America/New_York", "2026-11-01T05:05Z", expected.split(" ").length).join(" ")).toBe(expected);
  });

  test.each([
    ["45 1 * * *", "04-04T14:45 04-05T15:15"],
    ["*/15 * * * *", "04-04T14:45 04-04T15:00 04-04T15:15 04-04T15:30"],
    ["0 * * * *", "04-04T15:30 04-04T16:30"],
  ])("Australia/Lord_Howe, by half an hour: %s", (cron, expected) => {
    expect(runs(cron, "Australia/Lord_Howe", "2026-04-04T14:35Z", expected.split(" ").length).join(" ")).toBe(expected);
  });
});

test.each([
  ["*/10 * * * * *", "01-01T00:00:10 01-01T00:00:20"],
  ["0 12 * JAN MON-FRI", "01-01T12:00:00 01-02T12:00:00"],
  ["0 0 1 * SUN", "01-04T00:00:00 01-11T00:00:00"],
  ["@hourly", "01-01T01:00:00 01-01T02:00:00"],
  ["@Daily", "01-02T00:00:00 01-03T00:00:00"],
  ["0 0 L * *", "01-31T00:00:00 02-28T00:00:00"],
])("reads %s", (cron, expected) => {
  const found = nextRuns(cron, { from: new Date("2026-01-01T00:00:00Z"), count: 2 });
  expect(found.map((at) => at.toISOString().slice(5, 19)).join(" ")).toBe(expected);
});

test.each([
  ["61 * * * *", {}, "expected `cron` to be a cron expression, got: '61 * * * *' (Invalid value for minute: 61)"],
  ["* * * *", {}, "expected `cron` to be five fields, six with seconds, or a name such as @daily, got: '* * * *'"],
  ["* * * * * * *", {}, "expected `cron` to be five fields, six with seconds, or a name such as @daily"],
  ["2030-01-01T00:00:00", {}, "expected `cron` to be five fields"],
  ["@reboot", {}, "expected `cron` to be five fields"],
  ["", {}, "expected `cron` to be five fields"],
  [7, {}, "expected `cron` to be five fields, six with seconds, or a name such as @daily, got: 7"],
  ["0 0 30 2 *", {}, "expected `cron` to be an expression whose time comes, got: '0 0 30 2 *'"],
  ["@daily", { timeZone: "Mars/Olympus" }, "expected `timeZone` to be a time zone that Node.js knows"],
  ["@daily", { from: new Date(Number.NaN) }, "nextRuns: expected `from` to be a valid Date, got: Invalid Date"],
  ["@daily", { count: 0 }, "nextRuns: expected `count` to be an integer from 1 to 10000, got: 0"],
])("refuses %j %j", (cron, options, message) => {
  const call = (): Date[] => nextRuns(cron as string, options);
  expect(call).toThrow(PgqueError);
  expect(call).toThrow(message);
});

const zone = fc.constantFrom(...zones);

test("times come one after the other, and are what the expression says by the clocks of the zone", () => {
  fc.assert(
    fc.property(cronFields, zone, ({ fields, isFixed }: Fields, { timeZone, fromMs }) => {
      const found = nextRuns(text(fields), { timeZone, from: new Date(fromMs), count: 30 });
      found.forEach((at, i) => {
        expect(at.getTime()).toBeGreaterThan(found[i - 1]?.getTime() ?? fromMs);
        expect(matches(fields, at, timeZone) || (isFixed && isGapEnd(at, timeZone)), at.toISOString()).toBe(true);
      });
    }),
    { numRuns: 150 },
  );
});

test("an interval leaves out no minute that the expression names, whatever the clocks do", () => {
  fc.assert(
    fc.property(cronFields, zone, ({ fields, isFixed }: Fields, { timeZone, fromMs }) => {
      fc.pre(!isFixed);
      const expected = everyMinute(fromMs, 36).filter((at) => matches(fields, at, timeZone));
      const found = new Times(text(fields), timeZone).after(fromMs, expected.length + 1);
      expect(found.slice(0, expected.length)).toEqual(expected);
    }),
    { numRuns: 40 },
  );
});

test("backwards they are the same", () => {
  fc.assert(
    fc.property(cronFields, zone, ({ fields }: Fields, { timeZone, fromMs }) => {
      const times = new Times(text(fields), timeZone);
      const ahead = times.after(fromMs, 40);
      const back: Date[] = [];
      for (const at of times.back(ahead.at(-1)?.getTime() ?? fromMs)) {
        if (at.getTime() <= fromMs) break;
        back.unshift(at);
      }
      expect(back).toEqual(ahead);
    }),
    { numRuns: 150 },
  );
});
