import { readFileSync } from "node:fs";
import { defineQueue } from "@pgque/client";
import { expect, test } from "vitest";
import { kebab } from "#src/output/flags";
import { freshCli } from "./support/cli.ts";
import { onTerminal } from "./support/terminal.ts";

const { client, database, run, json } = await freshCli();
await client.ensure("orders");
await client.queues.change("orders", { retentionMs: 86_400_000 });

test("without a consumer the list says how to make one", async () => {
  expect(await json("consumer", "list", "orders")).toEqual([]);
  expect((await run("consumer", "list")).out).toContain("`pgque consumer add QUEUE NAME`");
});

test("a consumer is added, once, and listed with its mode and limits", async () => {
  expect(
    (
      await run(
        "consumer",
        "add",
        "orders",
        "Büro ☾",
        "--max-in-flight",
        "5",
        "--rate-limit",
        "10",
        "--rate-period",
        "1m",
      )
    ).out,
  ).toBe('Added consumer "Büro ☾" of queue "orders".\n');
  expect(await json("consumer", "add", "orders", "Büro ☾")).toEqual({
    queue: "orders",
    consumer: "Büro ☾",
    added: false,
    differences: [],
    skipped: 0,
  });
  const other = ["--max-in-flight", "6", "--rate-period", "1s"];
  expect((await run("consumer", "add", "orders", "Büro ☾", ...other)).out).toBe(
    'There is consumer "Büro ☾" of queue "orders" already. Other than named: --max-in-flight is 5, not 6; --rate-period is 1m, not 1s. ' +
      "`pgque consumer set orders 'Büro ☾'` changes them.\n",
  );
  await client.sendMany("orders", [1, 2]);
  expect((await run("consumer", "list")).out).toMatch(/^orders +Büro ☾ +shared +2 +0 of 5 .* 10 per 1m$/m);
  expect(await json("consumer", "list", "orders")).toMatchObject([
    {
      queue: "orders",
      consumer: "Büro ☾",
      mode: "shared",
      depth: 2,
      maxInFlight: 5,
      rateLimit: 10,
      ratePeriodMs: 60_000,
      lagMs: expect.any(Number),
    },
  ]);
});

test("one that comes later is said to skip what is there", async () => {
  await client.ensure("backlog");
  await client.subscribe("backlog", "first");
  await client.sendMany("backlog", [1, 2]);
  expect((await run("consumer", "add", "backlog", "late")).out).toBe(
    'Added consumer "late" of queue "backlog". It skips 2 messages that were sent before; `pgque consumer move backlog late --to earliest` brings them.\n',
  );
  expect(await json("consumer", "add", "backlog", "whole", "--from", "earliest")).toMatchObject({
    added: true,
    skipped: 0,
  });
  expect((await run("consumer", "move", "backlog", "late", "--to", "earliest", "--yes")).code).toBe(0);
  expect((await client.receive("backlog", { consumer: "late" })).messages).toHaveLength(2);
});

test("limits are changed and taken away", async () => {
  await client.subscribe("orders", "limited", { maxInFlight: 1 });
  expect((await run("consumer", "set", "orders", "limited", "--max-in-flight", "none", "--rate-limit", "3")).code).toBe(
    0,
  );
  const settings = await client.consumers.settings("orders");
  expect(settings.find(({ name }) => name === "limited")).toMatchObject({ maxInFlight: null, rateLimit: 3 });
  expect(await json("consumer", "set", "orders", "limited", "--rate-limit", "3")).toMatchObject({ changed: false });
});

test("every limit has its default again by the word `default`", async () => {
  await client.ensure(defineQueue("keyed", { partitions: 2 }));
  await client.subscribe("keyed", "new", { mode: "ordered" });
  const others = { onFailure: "skip", maxInFlight: 1, rateLimit: 1, ratePeriodMs: 2000 } as const;
  await client.subscribe("keyed", "as new", { mode: "ordered", ...others });
  const given = Object.keys(others).flatMap((name) => [`--${kebab(name)}`, "default"]);
  expect(await run("consumer", "set", "keyed", "as new", ...given)).toMatchObject({ code: 0, err: "" });
  const [one, other] = await client.consumers.settings("keyed");
  expect({ ...one, name: "", createdAt: "" }).toEqual({ ...other, name: "", createdAt: "" });
});

test("one is paused and resumed by itself", async () => {
  await client.subscribe("orders", "resting");
  expect((await run("consumer", "pause", "orders", "resting")).out).toBe(
    'Paused consumer "resting" of queue "orders".\n',
  );
  expect((await run("consumer", "list", "orders")).out).toMatch(/^orders +resting .* paused$/m);
  expect(await json("consumer", "resume", "orders", "resting")).toMatchObject({ changed: true });
});

test("one is moved after the latest, to the earliest, to a time and by an age, once it is confirmed", async () => {
  await client.subscribe("orders", "moving", { from: "earliest" });
  const depth = async () => (await client.consumers.list("orders")).find(({ name }) => name === "moving")?.depth;
  expect(await depth()).toBe(2);
  const asked = await run("consumer", "move", "orders", "moving", "--to", "latest");
  expect(asked).toMatchObject({ code: 2, out: "", err: expect.stringContaining("2 messages waiting, 0 in flight") });
  const move = (to: string) => run("consumer", "move", "orders", "moving", "--to", to, "--yes");
  const depths: unknown[] = [];
  for (const to of ["latest", "earliest", "2000-01-01T00:00:00Z", "2999-01-01T00:00:00+01:00", "1d"]) {
    expect(await move(to)).toMatchObject({ code: 0, err: "" });
    depths.push(await depth());
  }
  expect(depths).toEqual([0, 2, 2, 0, 2]);
  for (const to of ["end", "soon", "2026-01-01", "2026-02-31T00:00:00Z", "-1h"]) {
    const { code, err } = await move(to);
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining("Expected earliest, latest, an age like 2h, or a time with its zone"),
    });
  }
});

test("one is removed once it is confirmed", async () => {
  await client.subscribe("orders", "leaving");
  const no = onTerminal(["consumer", "remove", "orders", "leaving"], { DATABASE_URL: database.url });
  await no.shows("Go on?");
  no.type("\r");
  expect(await no.ended).toMatchObject({ code: 1, screen: expect.stringContaining("Not confirmed: nothing was done") });
  const yes = onTerminal(["consumer", "remove", "orders", "leaving"], { DATABASE_URL: database.url });
  await yes.shows("Go on?");
  yes.type("y");
  expect(await yes.ended).toMatchObject({ code: 0, screen: expect.stringContaining('Removed consumer "leaving"') });
  expect((await client.consumers.list("orders")).map(({ name }) => name)).not.toContain("leaving");
});

test.each([
  ["pause orders nobody", "consumer not registered: nobody. `pgque consumer list orders`"],
  ["set orders nobody --rate-limit 1", "`pgque consumer add orders nobody` makes one"],
  ["move orders nobody --to latest --yes", "consumer not registered: nobody"],
  ["remove orders nobody --yes", 'expected consumer "nobody" of queue "orders", found none'],
  ["list nowhere", "queue not found: nowhere"],
  ["add nowhere c", "queue not found: nowhere"],
])("consumer %s fails and says what to do", async (args, message) => {
  const { code, out, err } = await run("consumer", ...args.split(" "));
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain(message);
});

test.each([
  ["add orders c --mode some", "Allowed choices are shared, exclusive, ordered"],
  ["add orders c --max-in-flight 0", "expected --max-in-flight to be an integer from 1"],
  ["move orders c", "required option '--to <where>' not specified"],
  ["set orders c", "expected a limit to change, got none"],
])("consumer %s is wrong usage", async (args, message) => {
  const { code, err } = await run("consumer", ...args.split(" "));
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
});

test("a quantity has one name, whichever command shows it", async () => {
  await client.subscribe("orders", "shown");
  const heads = async (...args: string[]): Promise<string[]> => {
    const lines = (await run(...args)).out.split("\n");
    const line = lines.find((one) => one.startsWith("queue ")) ?? "";
    return line.replace("▼", "").trim().split(/ {2,}/);
  };
  const known = new Set([...(await heads("queue", "list")), ...(await heads("consumer", "list"))]);
  const page = readFileSync(new URL("../../../docs/observability.md", import.meta.url), "utf8");
  const [, section = ""] = /^## Quantities$(.*?)^## /ms.exec(page) ?? [];
  const documented = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, name]) => name).slice(1);
  expect(documented).toContain("depth");
  expect(documented.filter((name) => !known.has(String(name)))).toEqual([]);
  for (const args of [["top", "--once"], ["status"]]) {
    const shown = await heads(...args);
    expect(shown.length, args[0]).toBeGreaterThan(3);
    expect(
      shown.filter((head) => !known.has(head)),
      args[0],
    ).toEqual([]);
  }
});
