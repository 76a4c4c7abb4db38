import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { makeLanes, sendWith, subscribe } from "../lanes/support.ts";
import { ack, maintain } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterEach(() => database.drop());

interface Taken {
  batch: string;
  ids: string[];
  /** Payload, attempt and crashes of each. */
  found: [string, number, number | null][];
}

/** A receive whose lease has ended when the next statement looks. */
async function take(reportsStarted = true, max = 10): Promise<Taken> {
  await maintain(a);
  const { rows } = await a.query(
    "select * from pgque.receive_messages('q', 'c', 'w', max_messages => $1, lease => '1 ms', reports_started => $2)",
    [max, reportsStarted],
  );
  await a.query("select pg_sleep(0.002)");
  return {
    batch: rows[0]?.batch_id ?? "0",
    ids: rows.map((row) => row.message_id),
    found: rows.map((row) => [row.payload, row.attempt, row.crashes]),
  };
}

async function started(got: Taken, at: number, alone: boolean): Promise<number> {
  const { rows } = await a.query("select pgque.report_started($1, $2, $3) as said", [got.batch, got.ids[at], alone]);
  return rows[0].said;
}

async function letters(): Promise<unknown[][]> {
  const { rows } = await a.query("select payload, attempt, reason from pgque.dead_letter order by message_id");
  return rows.map(Object.values);
}

describe.each(["shared", "ordered", "exclusive"])("Of a lost batch of a consumer that is %s", (mode) => {
  beforeEach(async () => {
    await makeLanes(a, { partitions: 2, max_retries: 0, max_crashes: 2 });
    await subscribe(a, { mode });
    await sendWith(a, { key: "k" }, "one", "two", "three");
  });

  test("all come again as they were, as suspects, and nothing else when nobody says which had started", async () => {
    expect((await take()).found).toEqual([
      ["one", 1, null],
      ["two", 1, null],
      ["three", 1, null],
    ]);
    for (let lost = 0; lost < 4; lost += 1)
      expect((await take()).found).toEqual([
        ["one", 1, 1],
        ["two", 1, 1],
        ["three", 1, 1],
      ]);
    expect(await letters()).toEqual([]);
  });

  test("the one that had started alone is a dead letter when its crashes are used up, and the others are as they were", async () => {
    await take();
    const second = await take();
    expect(await started(second, 1, true)).toBe(1);
    const third = await take();
    expect(third.found).toEqual([
      ["one", 1, 1],
      ["three", 1, 1],
    ]);
    expect(await letters()).toEqual([
      ["two", 1, "it was in hand when 2 processes ended or lost their leases, alone in the last of them"],
    ]);
  });

  test("one that had started beside others is no dead letter, however often", async () => {
    await take();
    for (let lost = 1; lost < 5; lost += 1) {
      const got = await take();
      expect(got.found[0]).toEqual(["one", 1, lost]);
      await started(got, 0, true);
      await started(got, 0, false);
    }
    expect(await letters()).toEqual([]);
  });

  test("one whose end is settled is not blamed, and a finished batch takes no mark", async () => {
    await take();
    const got = await take();
    await started(got, 0, true);
    await a.query("select pgque.ack($1, $2::bigint[])", [got.batch, got.ids.slice(0, 1)]);
    expect(await started(got, 0, true)).toBe(0);
    const rest = await take();
    expect(rest.found).toEqual([
      ["two", 1, 1],
      ["three", 1, 1],
    ]);
    expect(await started(got, 1, true)).toBe(0);
    await ack(a, rest.batch);
    expect(await letters()).toEqual([]);
  });

  test("all are one attempt further when its receiver does not say what it begins", async () => {
    await take(false);
    expect((await take(false)).found).toEqual([]);
    expect(await letters()).toEqual([
      ["one", 1, "the lease ended before the message was settled"],
      ["two", 1, "the lease ended before the message was settled"],
      ["three", 1, "the lease ended before the message was settled"],
    ]);
  });
});

test("a handler that comes to an end clears its message, and a release does not", async () => {
  await makeLanes(a, { max_retries: 9 });
  await subscribe(a, { mode: "shared" });
  await sendWith(a, {}, "failed", "released", "snoozed");
  await take();
  const got = await take();
  await a.query(
    `select pgque.settle($1, retry_ids => array[$2::bigint], retry_after => '{0}', release_ids => array[$3::bigint],
       snooze_ids => array[$4::bigint], snooze_after => '{0}')`,
    [got.batch, ...got.ids],
  );
  expect((await take()).found).toEqual([
    ["failed", 2, null],
    ["released", 1, 1],
    ["snoozed", 1, null],
  ]);
});

test("a mark is refused for a message of another batch, and for nothing", async () => {
  await makeLanes(a, {});
  await subscribe(a, { mode: "shared" });
  await sendWith(a, {}, "one");
  const { batch, ids } = await take();
  await expect(a.query("select pgque.report_started($1, $2, true)", [batch, Number(ids[0]) + 1])).rejects.toMatchObject(
    {
      code: "PQ003",
    },
  );
  await expect(a.query("select pgque.report_started($1, null, true)", [batch])).rejects.toMatchObject({
    code: "PQ004",
  });
});
