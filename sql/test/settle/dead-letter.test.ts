import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { drain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
  await makeQueue(a, ["c", "d"], { max_retries: 0 });
});
afterEach(() => database.drop());

/** Sends messages and lets them die for a consumer, each for its own reason. */
async function letDie(consumer: string, deaths: Record<string, string>): Promise<void> {
  await send(a, ...Object.keys(deaths));
  const got = await receive(a, consumer);
  for (const [i, payload] of got.payloads.entries()) {
    await a.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s', reason => $3)", [
      got.batch,
      [got.ids[i]],
      deaths[payload],
    ]);
  }
  await drain(a, consumer === "c" ? "d" : "c");
}

async function letters(): Promise<{ id: string; payload: string; reason: string }[]> {
  return (await a.query("select id, payload, reason from pgque.dlq_inspect('q')")).rows;
}

async function count(call: string, values: unknown[] = []): Promise<number> {
  return (await a.query(`select pgque.${call} as n`, values)).rows[0].n;
}

describe("dead letters", () => {
  test("are listed newest first, with their reason", async () => {
    await letDie("c", { one: "timeout", two: "refused" });
    expect((await letters()).map(({ payload, reason }) => [payload, reason])).toEqual([
      ["two", "refused"],
      ["one", "timeout"],
    ]);
    expect((await a.query("select payload from pgque.dlq_inspect('q', 1)")).rows).toEqual([{ payload: "two" }]);
  });

  test("are sent again one at a time, with their id, from their first attempt, to the consumer they died for", async () => {
    await letDie("c", { one: "timeout", two: "refused" });
    const [two] = await letters();
    expect(await count("dlq_replay($1)", [two?.id])).toBe("2");
    expect(await count("dlq_replay($1)", [two?.id])).toBeNull();
    expect(await receive(a, "d")).toMatchObject({ payloads: [] });
    expect(await receive(a, "c")).toMatchObject({ payloads: ["two"], ids: ["2"], attempts: [1] });
    expect((await letters()).map(({ payload }) => payload)).toEqual(["one"]);
  });

  test("are sent again all at once, or those that a filter names", async () => {
    await letDie("c", { one: "timeout after 3 s", two: "refused", three: "timeout after 9 s" });
    await letDie("d", { four: "timeout after 5 s" });
    expect(await count("redrive('q', consumer => 'c', reason_like => 'timeout%', max_messages => 1)")).toBe(1);
    expect(await drain(a, "c")).toEqual(["one"]);
    expect(await count("redrive('q', type_name => 'nothing of this type')")).toBe(0);
    expect(await count("redrive('q', died_before => now() - interval '1 hour')")).toBe(0);
    expect(await count("dlq_replay_all('q')")).toBe(3);
    expect((await drain(a, "c")).toSorted()).toEqual(["three", "two"]);
    expect(await drain(a, "d")).toEqual(["four"]);
  });

  test("are purged by age", async () => {
    await letDie("c", { one: "timeout" });
    expect(await count("dlq_purge('q')")).toBe(0);
    expect(await count("dlq_purge('q', '0 s')")).toBe(1);
    await expect(count("dlq_purge('q', '-1 s')")).rejects.toMatchObject({ code: "PQ004" });
    await expect(count("dlq_purge('nowhere')")).rejects.toMatchObject({ code: "PQ001" });
  });

  test("outlive their consumer, and stay when there is nobody to send them to", async () => {
    await letDie("c", { one: "timeout" });
    await a.query("select pgque.unsubscribe('q', 'c')");
    expect(await count("redrive('q')")).toBe(0);
    expect(await letters()).toHaveLength(1);
  });

  test("are sent again once when two operators do it at once", async () => {
    await letDie("c", { one: "timeout" });
    await a.query("begin");
    expect(await count("redrive('q')")).toBe(1);
    const second = await blocked(await database.connect(), b, "select pgque.redrive('q') as n");
    await a.query("commit");
    expect((await second.result).rows).toEqual([{ n: 0 }]);
    expect(await drain(a, "c")).toEqual(["one"]);
  });
});
