import { expect, test } from "vitest";
import { freshCli } from "./support/cli.ts";

const { client, run, json } = await freshCli();
await client.ensure("reports");

test("without a schedule the lists say so", async () => {
  expect((await run("schedule", "list")).out).toContain("`pgque schedule set NAME QUEUE CRON` makes one");
  expect(await json("schedule", "list", "reports")).toEqual([]);
  expect((await run("schedule", "next")).out).toBe("No schedule will run.\n");
});

test("one is set, listed, and changed by setting it again", async () => {
  const set = (...more: string[]) =>
    json("schedule", "set", "nightly ☾", "reports", "30 2 * * *", '{"kind": "daily"}', ...more);
  expect(await set("--time-zone", "Europe/Berlin", "--catch-up", "3")).toEqual({
    schedule: "nightly ☾",
    changed: true,
  });
  expect(await set("--time-zone", "Europe/Berlin", "--catch-up", "3")).toEqual({
    schedule: "nightly ☾",
    changed: false,
  });
  expect(await json("schedule", "list")).toMatchObject([
    {
      schedule: "nightly ☾",
      queue: "reports",
      cron: "30 2 * * *",
      timeZone: "Europe/Berlin",
      payload: { kind: "daily" },
      catchUp: { all: 3 },
      paused: false,
    },
  ]);
  expect((await run("schedule", "list")).out).toMatch(/^nightly ☾ +reports +30 2 \* \* \* +Europe\/Berlin +last 3 /m);
});

test("next shows when it runs, all schedules together in the order of time", async () => {
  await client.schedules.set("often", "reports", "* * * * * *", 1);
  const times: { schedule: string; at: string }[] = await json("schedule", "next", "nightly ☾", "--count", "2");
  expect(times).toMatchObject([{ schedule: "nightly ☾" }, { schedule: "nightly ☾" }]);
  expect(new Date(times[1]?.at ?? "").getTime()).toBeGreaterThan(new Date(times[0]?.at ?? "").getTime());
  const { out } = await run("schedule", "next", "--count", "3");
  expect(out.trim().split("\n")).toHaveLength(4);
  expect(out).toMatch(/^\d{4}-.* +often +reports$/m);
});

test("run sends it now, and for one time once", async () => {
  await client.schedules.set("by hand", "reports", "0 0 1 1 *", { by: "hand" });
  const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 60_000).toISOString();
  const first: { messageId: string } = await json("schedule", "run", "by hand", "--at", at);
  expect(first).toEqual({ schedule: "by hand", at, messageId: expect.stringMatching(/^\d+$/) });
  const again = await run("schedule", "run", "by hand", "--at", at);
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining("before: nothing was sent.") });
  expect((await run("schedule", "run", "by hand")).out).toMatch(/^Sent message \d+, for /);
  const sent = (await client.messages.peek("reports")).map(({ payload }) => payload);
  expect(sent).toEqual([{ by: "hand" }, { by: "hand" }]);
});

test("one that is paused does not run until it is resumed", async () => {
  await client.schedules.set("resting", "reports", "* * * * *", 1);
  expect((await run("schedule", "pause", "resting")).out).toBe('Paused schedule "resting".\n');
  expect((await run("schedule", "list")).out).toMatch(/^resting .* paused$/m);
  expect((await run("schedule", "next", "resting")).out).toBe("It is paused.\n");
  expect(await run("schedule", "run", "resting")).toMatchObject({
    code: 1,
    err: expect.stringContaining("it is paused. `pgque schedule resume` enables it"),
  });
  expect(await json("schedule", "resume", "resting")).toEqual({ schedule: "resting", changed: true });
});

test("one is removed once it is confirmed", async () => {
  await client.schedules.set("leaving", "reports", "* * * * *", 1);
  expect(await run("schedule", "remove", "leaving")).toMatchObject({
    code: 2,
    err: expect.stringContaining("Add --yes if you mean it"),
  });
  expect(await json("schedule", "remove", "leaving", "--yes")).toEqual({ schedule: "leaving", removed: true });
  for (const args of [
    ["remove", "leaving", "--yes"],
    ["run", "leaving"],
    ["next", "leaving"],
  ]) {
    expect(await run("schedule", ...args)).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining('expected a schedule "leaving", found none'),
    });
  }
  expect(await run("schedule", "pause", "leaving")).toMatchObject({
    code: 1,
    err: expect.stringContaining("schedule not found"),
  });
});

test.each([
  [["set", "s", "reports", "61 * * * *"], "61"],
  [["set", "s", "reports", "* * * * *", "--time-zone", "Mars/Base"], "Mars/Base"],
  [["set", "s", "reports", "* * * * *", "{half"], 'expected a payload in JSON, got: "{half"'],
  [["set", "s", "reports", "* * * * *", "--catch-up", "never"], "Expected skip, once or a number"],
  [["next", "--count", "0"], "expected --count to be an integer from 1 to 10000, got: 0"],
  [["run", "by hand", "--at", "now"], "Expected a time with its zone"],
])("schedule %j is wrong usage", async (args, message) => {
  const { code, out, err } = await run("schedule", ...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});
