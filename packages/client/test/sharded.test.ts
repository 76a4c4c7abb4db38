import { execFileSync } from "node:child_process";
import { array, assert, property, string, uniqueArray } from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { defineQueue, isPgqueError, sharded, type Shards } from "@pgque/client";
import { freshDatabase } from "../../../test/support/database.ts";

function shardsOf(...args: Parameters<typeof sharded>): Shards {
  const shards = sharded(...args);
  onTestFinished(() => shards.close());
  return shards;
}

/** Databases that nobody connects to. */
const named = (names: readonly string[]): Shards =>
  shardsOf(Object.fromEntries(names.map((name) => [name, "postgres://app@127.0.0.1:1/app"])));

const homeOf = (shards: Shards, key: string): string => {
  const pgque = shards.of(key);
  const [name] = Array.from(shards.all).find(([, other]) => other === pgque) ?? [""];
  return name;
};

test("messages of a key are in the database of that key", async () => {
  await using one = await freshDatabase();
  await using two = await freshDatabase();
  const shards = shardsOf({ one: one.url, two: two.url });
  const queue = defineQueue("orders");
  const keys = Array.from({ length: 20 }, (_, i) => `customer-${i}`);
  for (const pgque of shards.all.values()) {
    await pgque.ensure(queue);
    await pgque.subscribe(queue);
  }
  for (const key of keys) await shards.of(key).send(queue, key);
  const got: string[] = [];
  for (const [name, pgque] of shards.all) {
    const { messages } = await pgque.receive(queue, { max: 100 });
    expect(messages.length).toBeGreaterThan(0);
    for (const { payload } of messages) expect(homeOf(shards, String(payload))).toBe(name);
    got.push(...messages.map(({ payload }) => String(payload)));
  }
  expect(got.toSorted()).toEqual(keys.toSorted());
});

test("of n databases one that is added takes every n-th key, and no other key moves", () => {
  assert(
    property(
      uniqueArray(string(), { minLength: 2, maxLength: 12 }),
      array(string(), { minLength: 1, maxLength: 200 }),
      (names, keys) => {
        const [added = "", ...before] = names;
        const [old, grown] = [named(before), named(names)];
        for (const key of keys) {
          const home = homeOf(grown, key);
          if (home !== added) expect(home).toBe(homeOf(old, key));
        }
      },
    ),
    { numRuns: 50 },
  );
  const shards = named(["a", "b", "c", "d", "e"]);
  const counts = new Map<string, number>();
  for (let i = 0; i < 5000; i += 1) {
    const home = homeOf(shards, `key ${i}`);
    counts.set(home, (counts.get(home) ?? 0) + 1);
  }
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

test("order and passwords of connection strings, and the process, make no difference", () => {
  const urls = ["postgres://a:secret@one:5432/app", "postgres://two/app", "postgres://three/app"];
  const others = ["postgres://three/app", "postgres://b@one/app", "postgres://two:5432/app"];
  const [first, second] = [shardsOf(urls), shardsOf(others)];
  expect(Array.from(first.all.keys())).toEqual(["one:5432/app", "two:5432/app", "three:5432/app"]);
  const keys = Array.from({ length: 30 }, (_, i) => `key ${i}`);
  const homes = keys.map((key) => homeOf(first, key));
  expect(homes).toEqual(keys.map((key) => homeOf(second, key)));
  const script = `
    import { sharded } from "@pgque/client";
    const shards = sharded(${JSON.stringify(urls)});
    const names = new Map(Array.from(shards.all, ([name, pgque]) => [pgque, name]));
    console.log(JSON.stringify(${JSON.stringify(keys)}.map((key) => names.get(shards.of(key)))));
    await shards.close();`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: import.meta.dirname });
  expect(JSON.parse(printed.toString())).toEqual(homes);
});

test.each([
  ["no database", [], "with one at least"],
  ["no object", "postgres://a/b", "expected `databases` to be an array of connection strings"],
  ["the same twice", ["postgres://a@one/app", "postgres://b@one:5432/app"], "got 'one:5432/app' twice"],
  ["a variable that is not set", { one: undefined }, "expected `target` to be a connection string"],
])("%s is refused", (_, databases, message) => {
  let error: unknown;
  try {
    sharded(databases as string[]);
  } catch (caught) {
    error = caught;
  }
  expect(isPgqueError(error, "INVALID_OPTION") && error.message).toContain(message);
});
