import type { CatchUp } from "@pgque/client";
import { dueTimes } from "#src/schedule/due";
import { Times } from "#src/schedule/times";
import { expect, test } from "vitest";

const at = (time: string): Date => new Date(`2026-06-01T${time}Z`);
const due = (
  catchUp: CatchUp,
  now: string,
  last: string | null,
  cron: string = "0 * * * *",
  changed: string = "00:30:00",
): string[] =>
  dueTimes(
    new Times(cron, "UTC"),
    { catchUp, changedAt: at(changed), lastRunAt: last === null ? null : at(last) },
    at(now),
  ).map((time) => time.toISOString().slice(11, 19));

test.each<[CatchUp, string[]]>([
  ["skip", []],
  ["once", ["05:00:00"]],
  [{ all: 3 }, ["03:00:00", "04:00:00", "05:00:00"]],
  [{ all: 100 }, ["01:00:00", "02:00:00", "03:00:00", "04:00:00", "05:00:00"]],
])("of times that were missed, %j runs %j", (catchUp, expected) => {
  expect(due(catchUp, "05:30:00", null)).toEqual(expected);
});

test.each<CatchUp>(["skip", "once", { all: 1 }])(
  "what has just come is run in any case, and stands for what was missed: %j",
  (catchUp) => {
    expect(due(catchUp, "05:00:00", "02:00:00")).toEqual(["05:00:00"]);
    expect(due(catchUp, "05:00:10", "02:00:00")).toEqual(["05:00:00"]);
    expect(due(catchUp, "05:00:10.001", "02:00:00")).toEqual(catchUp === "skip" ? [] : ["05:00:00"]);
  },
);

test("nothing is run early, or twice", () => {
  expect(due({ all: 9 }, "04:59:59.999", "04:00:00")).toEqual([]);
  expect(due({ all: 9 }, "05:30:00", "05:00:00")).toEqual([]);
  expect(due({ all: 9 }, "05:30:00", "06:00:00"), "the clock was set back").toEqual([]);
});

test("what came before the schedule was what it is has not been missed", () => {
  expect(due({ all: 9 }, "05:30:00", null, "0 * * * *", "04:00:00")).toEqual(["05:00:00"]);
  expect(due({ all: 9 }, "05:30:00", "01:00:00", "0 * * * *", "05:10:00")).toEqual([]);
});

test("what is older than the database remembers cannot be made good", () => {
  const found = dueTimes(
    new Times("0 * * * *", "UTC"),
    { catchUp: { all: 1440 }, changedAt: new Date(0), lastRunAt: null },
    new Date("2026-06-02T12:00:30Z"),
  );
  expect([found.length, found[0]]).toEqual([24, new Date("2026-06-01T13:00:00Z")]);
});

test("of times that come closer together than a worker can be late, those of the last seconds are run", () => {
  expect(due("skip", "05:00:00.500", null, "* * * * * *")).toHaveLength(10);
  expect(due({ all: 20 }, "05:00:00.500", null, "* * * * * *")).toHaveLength(20);
});

test("after a step of the clock back, times come as before, and nothing was missed", () => {
  expect(due({ all: 9 }, "05:00:00", "09:00:00"), "run ahead").toEqual(["05:00:00"]);
  expect(due({ all: 9 }, "05:00:45", "09:00:00", "0 * * * *", "00:00:00"), "seen late").toEqual(["05:00:00"]);
  expect(due({ all: 9 }, "05:00:00", "04:00:00", "0 * * * *", "09:00:00"), "changed ahead").toEqual(["05:00:00"]);
  expect(due({ all: 9 }, "05:30:00", "09:00:00"), "what came before").toEqual([]);
  expect(due("skip", "05:00:00", "05:00:05"), "run by another meanwhile").toEqual([]);
  const secondly = due({ all: 9 }, "05:00:03", "09:00:00", "* * * * * *", "05:00:00");
  expect(secondly, "what came before it was set").toEqual(["05:00:01", "05:00:02", "05:00:03"]);
});
