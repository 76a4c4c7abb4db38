import { defineQueue } from "@pgque/client";
import { expect, test } from "vitest";
import { freshCli } from "./support/cli.ts";
import { onTerminal } from "./support/terminal.ts";

const { client, database, run, json } = await freshCli();
const env = { DATABASE_URL: database.url };

test("without a queue the list says how to make one, and is an empty array for programs", async () => {
  expect(await run("queue", "list")).toEqual({
    code: 0,
    out: "There is no queue. `pgque queue create NAME` makes one.\n",
    err: "",
  });
  expect(await json("queue", "list")).toEqual([]);
});

test("a queue of any name is created with its settings, once", async () => {
  const name = "Grüße ☾ 日本";
  const settings = ["--max-retries", "3", "--retention", "1.5h", "--priorities", "10", "--allow-expiry", "on"];
  expect(await run("queue", "create", name, ...settings)).toEqual({
    code: 0,
    out: `Created queue "${name}".\n`,
    err: "",
  });
  expect(await client.queues.settings(name)).toMatchObject({
    maxRetries: 3,
    retentionMs: 5_400_000,
    priorities: 10,
    allowExpiry: true,
    notify: true,
  });
  expect(await json("queue", "create", name, "--max-retries", "9")).toEqual({
    queue: name,
    created: false,
    differences: [{ option: "maxRetries", wanted: 9, found: 3 }],
  });
  const others = [
    "--max-retries",
    "9",
    "--retention",
    "2d",
    "--allow-expiry",
    "off",
    "--max-lag",
    "1h",
    "--priorities",
    "10",
  ];
  expect((await run("queue", "create", name, ...others)).out).toBe(
    `Queue "${name}" is there already. Its settings were left as they are: --max-retries is 3, not 9; --allow-expiry is on, not off; ` +
      `--retention is 90m, not 2d; --max-lag is none, not 1h. \`pgque queue set '${name}'\` changes them.\n`,
  );
  expect((await run("queue", "create", name)).out).toBe(
    `Queue "${name}" is there already. Its settings were left as they are.\n`,
  );
  expect(await client.queues.settings(name)).toMatchObject({ maxRetries: 3 });
  expect((await run("queue", "list")).out).toMatch(/^queue +consumers .*\nGrüße ☾ 日本 +0 +0\.0 /);
});

test("show says what is known of a queue, for a person and for a program", async () => {
  await client.ensure("shown");
  await client.subscribe("shown", "reader");
  await client.send("shown", 1);
  const { code, out } = await run("queue", "show", "shown");
  expect(code).toBe(0);
  expect(out).toMatch(/^state +runs$/m);
  expect(out).toMatch(/^rotation-period +10m$/m);
  expect(out).toMatch(/^reader +1 +0 /m);
  expect(await json("queue", "show", "shown")).toMatchObject({
    queue: "shown",
    paused: false,
    settings: { maxRetries: 20, maxLagMs: null },
    consumers: [{ consumer: "reader", depth: 1, oldestAt: expect.stringMatching(/Z$/) }],
    segments: [{ isCurrent: true }, {}, {}],
  });
});

test("`default` resets every setting to what a new queue has", async () => {
  await run("queue", "create", "fresh");
  const { settings: fresh } = (await json("queue", "show", "fresh")) as { settings: Record<string, unknown> };
  const changed = ["--max-retries", "1", "--max-crashes", "2", "--payload-bytes-max", "7", "--notify", "off"];
  const longer = ["--retention", "2d", "--max-lag", "1h", "--max-lag-action", "drop"];
  const rotation = ["--rotation-bytes", "9000", "--rotation-period", "1h", "--rotation-min-interval", "1s"];
  const all = [...changed, ...longer, ...rotation];
  await run("queue", "create", "other");
  await run("queue", "set", "other", ...all);
  const { settings: others } = (await json("queue", "show", "other")) as { settings: Record<string, unknown> };
  expect(others).not.toEqual(fresh);
  const reset = all.map((word, i) => (i % 2 === 0 ? word : "default"));
  expect(await run("queue", "set", "other", ...reset)).toMatchObject({ code: 0, err: "" });
  expect(((await json("queue", "show", "other")) as { settings: unknown }).settings).toEqual(fresh);
});

test("settings are changed, taken back, and refused all together", async () => {
  await client.ensure("changed");
  expect((await run("queue", "set", "changed", "--max-lag", "2h", "--max-retries", "1")).out).toBe(
    'Changed queue "changed".\n',
  );
  expect(await client.queues.settings("changed")).toMatchObject({ maxLagMs: 7_200_000, maxRetries: 1 });
  expect(await json("queue", "set", "changed", "--max-lag", "default", "--notify", "off")).toEqual({
    queue: "changed",
    changed: true,
  });
  expect(await client.queues.settings("changed")).toMatchObject({ maxLagMs: null, maxRetries: 1, notify: false });
  const refused = await run("queue", "set", "changed", "--max-retries", "-1", "--partitions", "0");
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toContain("expected --max-retries to be an integer from 0 to 32000, got: -1");
  expect(refused.err).toContain("expected --partitions to be an integer from 1 to 1024, got: 0");
});

test("what a queue has for good cannot be reset", async () => {
  await client.ensure(defineQueue("for good", { partitions: 16, allowExpiry: true }));
  const set = async (flag: string) => {
    const { code, err } = await run("queue", "set", "for good", flag, "default");
    expect(code).toBe(2);
    return err;
  };
  expect(await set("--partitions")).toContain("expected --partitions of queue 'for good' to be 16 or more, got: none");
  expect(await set("--allow-expiry")).toContain("--allow-expiry of queue 'for good' cannot be switched off");
});

test("pause and resume show in the list", async () => {
  await client.ensure("paused");
  expect((await run("queue", "pause", "paused")).out).toBe('Paused queue "paused".\n');
  expect((await run("queue", "pause", "paused")).out).toBe("It is paused already.\n");
  expect((await run("queue", "list")).out).toMatch(/^paused .* paused$/m);
  expect(await json("queue", "resume", "paused")).toEqual({ queue: "paused", changed: true });
  expect((await run("queue", "list")).out).not.toMatch(/ paused$/m);
});

test.each([
  [["set", "changed"], "expected a setting to change, got none"],
  [["set", "changed", "--max-lag", "5"], 'Expected a duration like 250ms, 30s, 5m, 2h or 1d, got: "5"'],
  [["set", "changed", "--max-retries", "none"], 'Expected a whole number, got: "none"'],
  [["set", "changed", "--max-retries", "many"], 'Expected a whole number, got: "many"'],
  [["create", "q", "--partitions", "many"], 'Expected a whole number, got: "many"'],
  [["create", "x".repeat(58)], "57 bytes"],
  [["drp", "q"], "Did you mean drop?"],
  [["create"], "missing required argument 'queue'"],
  [[], "Usage: pgque queue"],
])("queue %j is wrong usage: exit code 2 and what was expected", async (args, message) => {
  const { code, out, err } = await run("queue", ...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});

test.each(["show", "pause", "resume", "set --max-retries 1", "purge --yes", "drop --yes"])(
  "%s of a queue that is not there says how to find one",
  async (command) => {
    const { code, out, err } = await run("queue", ...command.split(" "), "no where");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(
      "queue not found: no where. `pgque queue list` shows those that are there, `pgque queue create 'no where'` makes one",
    );
  },
);

test("purge and drop ask for the name, and without a terminal need --yes", async () => {
  await client.ensure("gone");
  await client.subscribe("gone");
  await client.sendMany("gone", [1, 2, 3]);
  for (const command of ["purge", "drop"]) {
    const { code, out, err } = await run("queue", command, "gone");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("Add --yes if you mean it");
  }
  expect((await client.messages.peek("gone")).length).toBe(3);

  const wrong = onTerminal(["queue", "drop", "gone", "--force"], env);
  await wrong.shows("Type gone to go on");
  wrong.type("gon\r");
  expect(await wrong.ended).toMatchObject({ code: 1, screen: expect.stringContaining("nothing was done") });

  const cancelled = onTerminal(["queue", "purge", "gone"], env);
  await cancelled.shows("Type gone to go on");
  cancelled.type("\u0003");
  expect(await cancelled.ended).toMatchObject({ code: 1 });

  const right = onTerminal(["queue", "purge", "gone"], env);
  await right.shows("Type gone to go on");
  right.type("gone\r");
  expect(await right.ended).toMatchObject({ code: 0, screen: expect.stringContaining("Threw away 3 messages.") });

  const subscribed = await run("queue", "drop", "gone", "--yes");
  expect(subscribed).toMatchObject({ code: 1, err: expect.stringContaining("consumers") });
  expect(await json("queue", "drop", "gone", "--yes", "--force")).toEqual({ queue: "gone", dropped: true });
  expect((await client.queues.list()).map(({ name }) => name)).not.toContain("gone");
});

test("only what one consumer has not received is thrown away", async () => {
  await client.ensure("two readers");
  await client.subscribe("two readers", "a");
  await client.subscribe("two readers", "b");
  await client.send("two readers", 1);
  expect(await json("queue", "purge", "two readers", "--consumer", "a", "--yes")).toEqual({
    queue: "two readers",
    purged: 1,
  });
  const depths = (await client.consumers.list("two readers")).map(({ name, depth }) => [name, depth]);
  expect(depths).toEqual([
    ["a", 0],
    ["b", 1],
  ]);
});

test("a name cannot color the terminal or begin a line", async () => {
  await client.ensure("red\u001b[31m\nline");
  const { out } = await run("queue", "list");
  expect(out).toMatch(/^red\\u001b\[31m\\u000aline /m);
});
