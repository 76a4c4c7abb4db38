import type pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { makeQueue, send } from "../support/queue.ts";

// next_messages: acks what is finished and receives what comes next.

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b] = [await database.connect(), await database.connect()];
});
afterEach(() => database.drop());

async function next(client: pg.Client, finished: string[], max = 1, lease = "30 s") {
  const { rows } = await client.query(
    "select batch_id, payload from pgque.next_messages('q', 'c', $1, max_messages => $2, lease => $3)",
    [finished, max, lease],
  );
  return { batch: String(rows[0]?.batch_id), payloads: rows.map((row) => row.payload) };
}

const open = async (): Promise<string[]> =>
  (await a.query("select batch_id from pgque.open_batches(1) order by batch_id")).rows.map((row) => row.batch_id);

describe("next_messages", () => {
  test("acks what is finished and receives, in one commit or not at all", async () => {
    await makeQueue(a);
    await send(a, "1", "2", "3");
    const first = await next(a, []);
    const second = await next(a, [first.batch]);
    expect([first.payloads, second.payloads]).toEqual([["1"], ["2"]]);
    expect(await open()).toEqual([second.batch]);

    await a.query("begin");
    expect((await next(a, [second.batch])).payloads).toEqual(["3"]);
    await a.query("rollback");
    expect(await open()).toEqual([second.batch]);
    const third = await next(a, [second.batch]);
    expect(third.payloads).toEqual(["3"]);
    expect((await next(a, [third.batch])).payloads).toEqual([]);
    expect(await open()).toEqual([]);
  });

  test("acks several batches; null is none of them", async () => {
    await makeQueue(a);
    await send(a, "1", "2", "3");
    const batches = [(await next(a, [])).batch, (await next(a, [])).batch];
    expect((await next(a, batches)).payloads).toEqual(["3"]);
    expect(await open()).toHaveLength(1);
    const { rows } = await a.query("select * from pgque.next_messages('q', 'c', null)");
    expect(rows).toEqual([]);
  });

  test("gives an exclusive consumer its next batch, and again the one that is not finished", async () => {
    await makeQueue(a, []);
    await a.query(`select pgque.subscribe('q', 'c', '{"from": "earliest", "mode": "exclusive"}')`);
    await send(a, "1", "2");
    const first = await next(a, []);
    expect(await next(b, [])).toEqual(first);
    const second = await next(a, [first.batch]);
    expect(second.payloads).toEqual(["2"]);
    expect(await next(b, [first.batch])).toEqual(second);
  });

  test("warns of a lease that was lost, and receives what others have not", async () => {
    await makeQueue(a);
    await send(a, "1", "2");
    const lost = await next(a, [], 1, "1 ms");
    await until(async () => {
      await b.query("select pgque.maintain('q')");
      return (await open()).length === 0;
    }, "the lease was taken away");
    const warnings: string[] = [];
    a.on("notice", ({ message }) => warnings.push(message ?? ""));
    expect((await next(a, [lost.batch], 10)).payloads).toEqual(["2"]);
    expect(warnings).toEqual([expect.stringContaining(lost.batch)]);
  });

  test("settles no batch of a queue that the caller may not receive from", async () => {
    await makeQueue(a);
    await a.query("select pgque.create_queue('other')");
    await a.query("select pgque.subscribe('other', 'c')");
    await send(a, "1");
    const { batch } = await next(a, []);
    const role = `next_${process.pid}`;
    await a.query(`create role ${role}`);
    try {
      await a.query(`select pgque.grant_queue('other', '${role}', 'receive')`);
      await b.query(`set role ${role}`);
      await expect(
        b.query("select * from pgque.next_messages('other', 'c', array[$1]::bigint[])", [batch]),
      ).rejects.toMatchObject({ code: "42501" });
      expect(await open()).toEqual([batch]);
    } finally {
      await b.query("reset role");
      await a.query("select pgque.revoke_queue('other', $1)", [role]).catch(() => undefined);
      await a.query(`drop owned by ${role}`);
      await a.query(`drop role ${role}`);
    }
  });

  test("of two sessions that finish and take over the same batches, neither waits for the other for ever", async () => {
    await makeQueue(a, []);
    await a.query(`select pgque.subscribe('q', 'c', '{"from": "earliest", "mode": "exclusive"}')`);
    await send(a, ...Array.from({ length: 300 }, (_, i) => String(i)));
    const handled = new Map<string, number>();
    const work = async (client: pg.Client): Promise<void> => {
      for (let finished: string[] = []; ;) {
        const { batch, payloads } = await next(client, finished, 3, "1 ms");
        if (payloads.length === 0) return;
        for (const payload of payloads) handled.set(payload, (handled.get(payload) ?? 0) + 1);
        finished = [batch];
      }
    };
    await Promise.all([work(a), work(b), work(await database.connect())]);
    expect(handled.size).toBe(300);
    expect(await open()).toEqual([]);
  });
});
