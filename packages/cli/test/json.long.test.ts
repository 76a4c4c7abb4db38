import { expect, test } from "vitest";
import { freshCli, jsonLines } from "./support/cli.ts";

// What docs/cli.md promises to programs that read --json, of every command that has it. What bench writes is results.json, guard a log.

const { client, run, json } = await freshCli();

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const text = (value: unknown): boolean => typeof value === "string";
const count = (value: unknown): boolean => typeof value === "number";
const id = (value: unknown): boolean => typeof value === "string" && /^\d+$/.test(value);

/** What a member holds, by its name, when it is not null. */
const rules: readonly [RegExp, (value: unknown) => boolean][] = [
  [/^(queue|consumer|schedule)$/, text],
  [/^(id|.+Id)$/, id],
  [/^(at|.+At)$/, (value) => text(value) && time.test(String(value))],
  [/(Ms|PerSecond|Count|Bytes|BytesMax)$/, count],
  [/^(bytes|depth|delayed|deadLetters|inFlight|expired|attempt|openBatches|sent|purged|redriven)$/, count],
  [
    /^(is[A-Z].*|paused|created|changed|added|moved|removed|dropped|serves|notify|allowExpiry|allowCancel)$/,
    (value) => typeof value === "boolean",
  ],
];

/** What is somebody else's; and who holds the horizon just now, which has members of its own and is a test of its own. */
const foreign = new Set(["payload", "headers", "holders"]);
/** Other names for what has one. */
const forbidden = new Set(["name", "consumers", "segments", "enabled", "time", "date", "duration"]);

/** Everything that breaks a rule, as `path: value`. */
function* breaches(value: unknown, path: string, lists: readonly string[]): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const at = `${path}.${name}`;
    if (foreign.has(name) || member === null) continue;
    const isList = Array.isArray(member) && lists.includes(name);
    if (forbidden.has(name) && !isList) yield `${at}: called by another name`;
    for (const [pattern, holds] of rules)
      if (pattern.test(name) && !Array.isArray(value) && !holds(member)) yield `${at}: ${JSON.stringify(member)}`;
    yield* breaches(member, at, lists);
  }
}

test("every command's JSON is in one vocabulary: names, ids, times, durations, sizes and counts", async () => {
  const printed: Record<string, unknown> = {};
  const take = async (...args: string[]): Promise<unknown> => (printed[args.join(" ")] = await json(...args));
  await take("queue", "create", "orders", "--allow-expiry", "on", "--retention", "1h", "--max-lag", "1d");
  await take("consumer", "add", "orders", "billing", "--rate-limit", "9000");
  await take("send", "orders", "1", "--expires", "2h");
  await take("send", "orders", "2", "--delay", "1h");
  await take("send", "orders", "3");
  printed["receive"] = jsonLines((await run("receive", "orders", "--consumer", "billing", "--json")).out);
  expect(printed["receive"]).toHaveLength(2);
  const batch = await client.receive("orders", { consumer: "billing", max: 1 });
  await batch.bury(
    batch.messages.map((message) => message.id),
    "no",
  );
  await take("schedule", "set", "nightly", "orders", "@daily");
  await take("schedule", "run", "nightly");
  for (const list of [
    "queue list",
    "consumer list",
    "schedule list",
    "schedule next",
    "peek orders",
    "dlq list orders",
  ]) {
    const found = await take(...list.split(" "));
    expect(found, list).not.toEqual([]);
  }
  printed["tail"] = jsonLines((await run("tail", "orders", "--json")).out);
  await take("queue", "show", "orders");
  await take("top", "--once");
  await take("status");
  // a server of tests has settings that it calls a problem
  printed["doctor"] = JSON.parse((await run("doctor", "--json")).out);
  await take("dlq", "show", "orders", "1");
  await take("dlq", "redrive", "orders", "--all");
  await take("dlq", "purge", "orders", "--all", "--yes");
  for (const what of ["pause", "resume"]) {
    await take("queue", what, "orders");
    await take("consumer", what, "orders", "billing");
    await take("schedule", what, "nightly");
  }
  await take("queue", "set", "orders", "--max-retries", "1");
  await take("consumer", "set", "orders", "billing", "--max-in-flight", "9");
  await take("consumer", "move", "orders", "billing", "--to", "latest", "--yes");
  await take("consumer", "remove", "orders", "billing", "--yes");
  await take("schedule", "remove", "nightly", "--yes");
  await take("queue", "purge", "orders", "--yes");
  await take("queue", "drop", "orders", "--yes");

  const broken = Object.entries(printed).flatMap(([command, value]) => [
    ...breaches(value, command, command === "queue show orders" ? ["consumers", "segments"] : []),
  ]);
  expect(broken).toEqual([]);
});
