import { expect, test } from "vitest";
import { z } from "zod";
import { defineQueue } from "@pgque/client";
import { failure, freshClient } from "../support/client.ts";

const { pgque } = await freshClient();
const reports = defineQueue("reports", {
  priorities: 10,
  types: { daily: z.object({ kind: z.string() }), weekly: z.object({ week: z.number() }) },
  defaults: { headers: { source: "cron" }, priority: 2 },
});
await pgque.ensure(reports);
await pgque.subscribe(reports);

/** A whole second that has come. */
const now = new Date(Math.floor(Date.now() / 1000) * 1000);

test("a schedule is declared at every start, and changed when it differs", async () => {
  const declare = (cron: string) =>
    pgque.schedules.set("nightly ☾", reports, cron, { kind: "all" }, { type: "daily", timeZone: "Europe/Berlin" });
  expect([await declare("0 3 * * *"), await declare("0 3 * * *"), await declare("0 4 * * *")]).toEqual([
    true,
    false,
    true,
  ]);
  expect(await pgque.schedules.list()).toEqual([
    {
      name: "nightly ☾",
      queue: "reports",
      cron: "0 4 * * *",
      timeZone: "Europe/Berlin",
      type: "daily",
      payload: { kind: "all" },
      headers: { source: "cron" },
      priority: 2,
      key: null,
      catchUp: "once",
      enabled: true,
      createdAt: expect.any(Date),
      changedAt: expect.any(Date),
      lastRunAt: null,
    },
  ]);
});

test("it runs once for each of its times", async () => {
  const [first, second] = await Promise.all([1, 2].map(() => pgque.schedules.run("nightly ☾", now)));
  expect([first, second].filter((id) => id === null)).toHaveLength(1);
  await using batch = await pgque.receive(reports);
  const [message] = batch.messages;
  expect(message).toMatchObject({ id: first ?? second, type: "daily", payload: { kind: "all" }, priority: 2 });
  expect(message?.headers).toMatchObject({ source: "cron", schedule: "nightly ☾" });
  expect(await pgque.schedules.list(reports)).toMatchObject([{ lastRunAt: now }]);
  await batch.ack();
});

test("what was switched off stays off when it is declared again", async () => {
  const declare = (enabled?: boolean) =>
    pgque.schedules.set("weekly", reports, "0 0 * * 1", { week: 1 }, { type: "weekly", enabled });
  await declare(false);
  expect(await declare()).toBe(false);
  expect(await pgque.schedules.run("weekly", now)).toBeNull();
  expect(await declare(true)).toBe(true);
  expect(await pgque.schedules.run("weekly", now)).toMatch(/^\d+$/);
});

test("what becomes of missed times is stored with it, and is `once` where nothing is said", async () => {
  const declare = async (catchUp?: unknown): Promise<unknown> => {
    const options = { type: "weekly", catchUp: catchUp as "skip" } as const;
    await pgque.schedules.set("weekly", reports, "0 0 * * 1", { week: 1 }, options);
    return (await pgque.schedules.list()).find(({ name }) => name === "weekly")?.catchUp;
  };
  expect([await declare("skip"), await declare({ all: 3 }), await declare({ all: 1 }), await declare()]).toEqual([
    "skip",
    { all: 3 },
    "once",
    "once",
  ]);
  for (const wrong of ["twice", { all: 0 }, { all: 1441 }, null, 2]) {
    expect((await failure(declare(wrong))).message).toContain(
      'expected `catchUp` to be "skip", "once" or { all: 1 to 1440 }',
    );
  }
});

test("a schedule is removed once", async () => {
  expect([await pgque.schedules.remove("weekly"), await pgque.schedules.remove("weekly")]).toEqual([true, false]);
});

test("what it could not send is refused when it is declared", async () => {
  const set = (cron: string, payload: unknown, options: object) =>
    failure(pgque.schedules.set("bad", reports, cron, payload as never, options as never));
  expect((await set("0 3 * * *", { kind: 1 }, { type: "daily" })).code).toBe("PAYLOAD_INVALID");
  expect((await set("0 3 * * *", { kind: "x" }, {})).code).toBe("INVALID_OPTION");
  expect((await set("0 3 * * *", { kind: "x" }, { type: "daily", timezone: "UTC" })).code).toBe("INVALID_OPTION");
  expect((await set("", { kind: "x" }, { type: "daily" })).code).toBe("INVALID_ARGUMENT");
  const zone = await set("0 3 * * *", { kind: "x" }, { type: "daily", timeZone: "Mars/Olympus" });
  expect([zone.code, zone.message]).toEqual(["INVALID_ARGUMENT", expect.stringContaining("Mars/Olympus")]);
  expect((await failure(pgque.schedules.run("nightly ☾", new Date("x")))).code).toBe("INVALID_OPTION");
  expect((await failure(pgque.schedules.run("nightly ☾", new Date(0)))).code).toBe("INVALID_ARGUMENT");
  expect((await failure(pgque.schedules.run("no such schedule", now))).code).toBe("INVALID_ARGUMENT");
});

test("a schedule is paused and resumed, and stays what it is", async () => {
  const notes = defineQueue("notes");
  await pgque.ensure(notes);
  const options = { headers: { a: 1 }, timeZone: "Asia/Tokyo", catchUp: { all: 3 }, type: "note" };
  await pgque.schedules.set("pausing", notes, "0 * * * *", { text: "☾" }, options);
  const [before] = await pgque.schedules.list(notes);
  expect([await pgque.schedules.pause("pausing"), await pgque.schedules.pause("pausing")]).toEqual([true, false]);
  expect(await pgque.schedules.run("pausing", now)).toBeNull();
  expect([await pgque.schedules.resume("pausing"), await pgque.schedules.resume("pausing")]).toEqual([true, false]);
  expect(await pgque.schedules.list(notes)).toEqual([{ ...before, changedAt: expect.any(Date) }]);
  expect(await failure(pgque.schedules.pause("nobody's"))).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("schedule not found"),
  });
});
