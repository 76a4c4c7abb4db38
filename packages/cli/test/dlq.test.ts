import { beforeEach, expect, test } from "vitest";
import { freshCli } from "./support/cli.ts";
import { onTerminal } from "./support/terminal.ts";

const { client, database, run, json } = await freshCli();
let letters: { id: string; reason: string }[];

/** Buries a message for each of these reasons. */
async function bury(...reasons: string[]): Promise<void> {
  await client.sendMany("q", reasons);
  const batch = await client.receive("q", { consumer: "c" });
  for (const message of batch) await batch.bury([message.id], String(message.payload));
}

beforeEach(async () => {
  await client.queues.drop("q", { force: true });
  await client.ensure("q");
  await client.subscribe("q", "c");
  await bury("gateway timeout", "100% wrong", "1000 wrong", "no such order ☾");
  letters = await json("dlq", "list", "q");
});

const left = async () => (await client.deadLetters.list("q")).map(({ reason }) => reason);

test("an id that is of no dead letter is told, after the others were done", async () => {
  const redriven = await run("dlq", "redrive", "q", "--id", `${letters[0]?.id},999999`);
  expect(redriven).toMatchObject({ code: 1, out: "Sent 1 dead letter again.\n" });
  expect(redriven.err).toContain(
    "expected one of the ids to be of a dead letter that fits, found none. `pgque dlq list q`",
  );
  const purged = await run("dlq", "purge", "q", "--yes", "--json", "--id", "999998,999999");
  expect({ ...purged, out: JSON.parse(purged.out) }).toMatchObject({ code: 1, out: { purged: 0 } });
  expect(await left()).toHaveLength(letters.length - 1);
});

test("they are listed, the newest first, in pages, by filters", async () => {
  expect(letters).toMatchObject([
    {
      reason: "no such order ☾",
      consumer: "c",
      attempt: 1,
      diedAt: expect.stringMatching(/Z$/),
      id: expect.any(String),
      messageId: "4",
    },
    { reason: "1000 wrong" },
    { reason: "100% wrong" },
    { reason: "gateway timeout" },
  ]);
  const page = await run("dlq", "list", "q", "--limit", "3");
  expect(page.out).toMatch(/^ *id +died +consumer +attempt +type +reason +payload\n/);
  expect(page.out).toContain(`There may be more: add --after ${letters[2]?.id}`);
  expect((await run("dlq", "list", "q", "--after", String(letters[2]?.id))).out).toContain("gateway timeout");
  const reasons = async (...filter: string[]) =>
    ((await json("dlq", "list", "q", ...filter)) as typeof letters).map(({ reason }) => reason);
  expect(await reasons("--reason", "0% w")).toEqual(["100% wrong"]);
  expect(await reasons("--consumer", "nobody")).toEqual([]);
  expect(await reasons("--type", "default", "--newer-than", "1h", "--reason", "timeout")).toEqual(["gateway timeout"]);
  expect(await reasons("--older-than", "1h")).toEqual([]);
  await client.deadLetters.purge("q", { all: true });
  expect((await run("dlq", "list", "q")).out).toBe("There is no dead letter.\n");
});

test("one is shown with all of its payload", async () => {
  const id = String(letters[0]?.id);
  const { out } = await run("dlq", "show", "q", id);
  expect(out).toMatch(/^reason +no such order ☾$/m);
  expect(out).toMatch(/\n\n"no such order ☾"\n$/);
  expect(await json("dlq", "show", "q", id)).toEqual(letters[0]);
  expect(await run("dlq", "show", "q", "999999999")).toMatchObject({
    code: 1,
    err: expect.stringContaining('expected a dead letter 999999999 of queue "q", found none. `pgque dlq list q`'),
  });
});

test("the stack of its reason has its lines, and nothing that could do something to a terminal", async () => {
  await client.deadLetters.purge("q", { all: true });
  await client.send("q", "x");
  const batch = await client.receive("q", { consumer: "c" });
  await batch.bury(
    [String(batch.messages[0]?.id)],
    "Error: declined\n    at charge (shop.ts:7)\n    at \u001b[31mred\r\nend",
  );
  const [letter] = await client.deadLetters.list("q");
  const { out } = await run("dlq", "show", "q", String(letter?.id));
  expect(out).toMatch(/^reason +Error: declined$/m);
  expect(out).toContain('\n\nError: declined\n    at charge (shop.ts:7)\n    at \\u001b[31mred\nend\n\n"x"\n');
});

test("they are sent again: by id, by filter, so many, all", async () => {
  expect((await run("dlq", "redrive", "q", "--id", `${letters[0]?.id},${letters[1]?.id}`)).out).toBe(
    "Sent 2 dead letters again.\n",
  );
  expect(await left()).toEqual(["100% wrong", "gateway timeout"]);
  expect(await json("dlq", "redrive", "q", "--reason", "timeout")).toEqual({ queue: "q", redriven: 1 });
  await bury("a", "b");
  const { messages } = await client.receive("q", { consumer: "c" });
  expect(messages).toEqual([]);
  expect(await json("dlq", "redrive", "q", "--consumer", "c", "--limit", "1")).toEqual({ queue: "q", redriven: 1 });
  expect(await json("dlq", "redrive", "q", "--all")).toMatchObject({ redriven: expect.any(Number) });
  expect(await left()).toEqual([]);
  expect(await json("dlq", "redrive", "q", "--all")).toEqual({ queue: "q", redriven: 0 });
});

test("more than one transaction takes are sent again, with a bar on a terminal", async () => {
  const many = Array.from({ length: 2300 }, (_, i) => `r${i}`);
  await client.sendMany("q", many);
  const batch = await client.receive("q", { consumer: "c", max: 3000 });
  await batch.settle({ dead: batch.messages.map(({ id }) => ({ id, reason: "gone" })) });
  const terminal = onTerminal(["dlq", "redrive", "q", "--all"], { DATABASE_URL: database.url });
  expect(await terminal.ended).toMatchObject({
    code: 0,
    screen: expect.stringMatching(/% .* dead letters[^]*Sent 2,304 dead letters again\./),
  });
  expect(await left()).toEqual([]);
});

test("they are thrown away once it is confirmed", async () => {
  const asked = await run("dlq", "purge", "q", "--reason", "wrong");
  expect(asked).toMatchObject({
    code: 2,
    out: "",
    err: expect.stringContaining("those that fit of the 4 dead letters"),
  });
  expect((await left()).length).toBe(4);
  expect(await json("dlq", "purge", "q", "--reason", "wrong", "--yes")).toEqual({ queue: "q", purged: 2 });
  const terminal = onTerminal(["dlq", "purge", "q", "--all"], { DATABASE_URL: database.url });
  await terminal.shows("Go on?");
  terminal.type("y");
  expect(await terminal.ended).toMatchObject({
    code: 0,
    screen: expect.stringContaining("Threw away 2 dead letters."),
  });
  expect(await left()).toEqual([]);
});

test.each([
  ["redrive q", "got neither"],
  ["purge q --yes", "got neither"],
  ["purge q --yes --all --type t", "got both"],
  ["redrive q --id some", 'Expected an id, a whole number from 0 on, got: "some"'],
  ["redrive q --all --limit 0", "expected --limit to be 1 or more, got: 0"],
  ["list q --limit 5000", "expected --limit to be an integer from 1 to 1000, got: 5000"],
  ["list q --older-than soon", "Expected an age like 2h, or a time"],
])("dlq %s is wrong usage and does nothing", async (args, message) => {
  const { code, out, err } = await run("dlq", ...args.split(" "));
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
  expect((await left()).length).toBe(4);
});
