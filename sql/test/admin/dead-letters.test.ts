import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { drain, makeQueue } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
beforeAll(async () => {
  database = await freshDatabase();
  a = await database.connect();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await a.query("select pgque.drop_queue(name, true) from pgque.queue");
  await makeQueue(a, ["c", "größe"]);
  // one a minute of an hour: by c or größe, of type even or odd, for one of three reasons, each its own payload
  await a.query(
    `insert into pgque.dead_letter (queue_id, consumer, message_id, attempt, lane, type, payload, headers, created_at, died_at, reason)
     select 1, case when n % 2 = 0 then 'c' else 'größe' end, 1000 + n, 6, 0, case when n % 4 < 2 then 'low' else 'high' end, n::text,
            '{"h": 1}', '2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z'::timestamptz + n * interval '1 min',
            case n % 3 when 0 then 'timeout' when 1 then '100% 订单' end
       from generate_series(0, 59) as n`,
  );
});

type Filters = Record<string, unknown>;
async function call(name: string, filters: Filters = {}): Promise<Record<string, unknown>[]> {
  const names = Object.keys(filters);
  const list = names.map((filter, i) => `, ${filter} => $${i + 1}`).join("");
  return (await a.query(`select * from pgque.${name}('q'${list})`, Object.values(filters))).rows;
}
const listed = async (filters: Filters = {}): Promise<number[]> =>
  (await call("dead_letters", filters)).map(({ payload }) => Number(payload));
const count = async (name: string, filters: Filters = {}): Promise<number> =>
  Number((await call(name, filters))[0]?.[name]);

const minute = (n: number): Date => new Date(Date.UTC(2030, 0, 1, 0, n));
const all = Array.from({ length: 60 }, (_, n) => n);

/** Each filter, and which of the sixty it chooses. */
const filters: [name: string, filters: Filters, chosen: (n: number) => boolean][] = [
  ["none", {}, () => true],
  ["consumer", { consumer: "größe" }, (n) => n % 2 === 1],
  ["a consumer that never was", { consumer: "nobody" }, () => false],
  ["type_name", { type_name: "high" }, (n) => n % 4 >= 2],
  ["reason_like", { reason_like: "%out" }, (n) => n % 3 === 0],
  ["reason_like with an escape", { reason_like: "100\\% %单" }, (n) => n % 3 === 1],
  ["reason_like with an escaped backslash", { reason_like: "%\\\\" }, () => false],
  ["died_after", { died_after: minute(50) }, (n) => n >= 50],
  ["died_before", { died_before: minute(50) }, (n) => n < 50],
  ["an hour that is not over", { died_after: minute(10), died_before: minute(20) }, (n) => n >= 10 && n < 20],
  [
    "all of them",
    { consumer: "c", type_name: "low", reason_like: "time%", died_after: minute(5), died_before: minute(45) },
    (n) => n % 2 === 0 && n % 4 < 2 && n % 3 === 0 && n >= 5 && n < 45,
  ],
];

describe.each(filters)("chosen by %s, dead letters", (_, chosenBy, chosen) => {
  test("are listed newest first", async () => {
    expect(await listed(chosenBy)).toEqual(all.filter(chosen).toReversed());
  });

  test("are purged, and no others", async () => {
    expect(await count("purge_dead_letters", chosenBy)).toBe(all.filter(chosen).length);
    expect(await listed()).toEqual(all.filter((n) => !chosen(n)).toReversed());
  });

  test("are sent again, and no others", async () => {
    expect(await count("redrive", chosenBy)).toBe(all.filter(chosen).length);
    expect(await listed()).toEqual(all.filter((n) => !chosen(n)).toReversed());
    const sent = [...(await drain(a, "c")), ...(await drain(a, "größe"))].map(Number);
    expect(sent.toSorted((x, y) => x - y)).toEqual(all.filter(chosen));
  });
});

test("a dead letter is shown with everything that is known of it", async () => {
  const [first] = await call("dead_letters", { max_messages: 1 });
  expect(first).toEqual({
    id: expect.any(String),
    consumer: "größe",
    message_id: "1059",
    attempt: 6,
    type: "high",
    payload: "59",
    headers: { h: 1 },
    priority: null,
    key: null,
    reason: null,
    created_at: minute(0),
    died_at: minute(59),
  });
});

test("a page goes on before the id that the last one ended with, also while more die", async () => {
  const pages: number[][] = [];
  let before: unknown = null;
  for (;;) {
    const page = await call("dead_letters", { before_id: before, max_messages: 25, type_name: "low" });
    if (page.length === 0) break;
    pages.push(page.map(({ payload }) => Number(payload)));
    before = page.at(-1)?.["id"];
    await a.query(
      "insert into pgque.dead_letter (queue_id, consumer, message_id, attempt, type, created_at) values (1, 'c', 1, 1, 'low', now())",
    );
  }
  expect(pages.map((page) => page.length)).toEqual([25, 5]);
  expect(pages.flat()).toEqual(all.filter((n) => n % 4 < 2).toReversed());
});

test("those that ids name are purged or sent again, if they are there and the other filters choose them, in this queue alone", async () => {
  await a.query("select pgque.create_queue('other'), pgque.subscribe('other', 'c')");
  const ids = (await call("dead_letters", { max_messages: 4 })).map(({ id }) => id);
  expect(await count("purge_dead_letters", { ids: [ids[0], ids[0], "9223372036854775807", null] })).toBe(1);
  expect(await count("purge_dead_letters", { ids: [ids[1], ids[2]], consumer: "c" })).toBe(1);
  expect(await count("redrive", { ids: [ids[0], ids[3]] })).toBe(1);
  expect(await count("purge_dead_letters", { ids: [] })).toBe(0);
  expect((await a.query("select pgque.purge_dead_letters('other', ids => $1) as n", [ids])).rows).toEqual([{ n: "0" }]);
  expect(await listed()).toHaveLength(57);
});

test("are sent again oldest first, so many at once", async () => {
  expect(await count("redrive", { max_messages: 3 })).toBe(3);
  expect((await listed()).toReversed()[0]).toBe(3);
});

test("are purged oldest first, so many at once", async () => {
  expect(await count("purge_dead_letters", { max_messages: 3 })).toBe(3);
  expect((await listed()).toReversed()[0]).toBe(3);
});

test("what is being sent again is not purged, and is there when that is taken back", async () => {
  const [b, observer] = [await database.connect(), await database.connect()];
  await a.query("begin");
  expect(await count("redrive", { died_before: minute(1) })).toBe(1);
  const purge = await blocked(observer, b, "select pgque.purge_dead_letters('q', died_before => $1)::int as n", [
    minute(2),
  ]);
  await a.query("commit");
  expect((await purge.result).rows).toEqual([{ n: 1 }]);
  expect(await drain(a, "c")).toEqual(["0"]);
});

test.each([
  ["dead_letters(null)", "PQ001", "queue not found: NULL"],
  ["dead_letters('nowhere')", "PQ001", "queue not found: nowhere"],
  ["redrive('nowhere')", "PQ001", "queue not found: nowhere"],
  ["purge_dead_letters('nowhere')", "PQ001", "queue not found: nowhere"],
  ["dead_letters('q', max_messages => 0)", "PQ004", "expected max_messages to be an integer from 1 to 1000, got: 0"],
  ["dead_letters('q', max_messages => null)", "PQ004", "got: NULL"],
  ["dead_letters('q', max_messages => 1001)", "PQ004", "got: 1001"],
  ["redrive('q', max_messages => -1)", "PQ004", "expected max_messages to be an integer from 1 to 100000, got: -1"],
  ["dead_letters('q', reason_like => 'x\\')", "PQ004", "expected reason_like to be a LIKE pattern"],
  ["redrive('q', reason_like => '\\')", "PQ004", "got: E'\\\\'"],
  ["purge_dead_letters('q', reason_like => 'x\\\\\\')", "PQ004", "expected reason_like to be a LIKE pattern"],
])("%s is refused", async (refused, code, message) => {
  await expect(a.query(`select * from pgque.${refused}`)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message),
  });
  expect(await listed()).toHaveLength(60);
});

test("a page, a step, and those that ids name, are read by index among 20,000, and as many of another queue", async () => {
  await a.query("select pgque.create_queue('other'), pgque.subscribe('other', 'c')");
  for (const queue of ["other", "q"])
    await a.query(
      `insert into pgque.dead_letter (queue_id, consumer, message_id, attempt, type, payload, created_at)
       select (select id from pgque.queue where name = $1), 'c', n, 1, 't', repeat('x', 100), now() from generate_series(1, 20000) as n`,
      [queue],
    );
  await a.query("delete from pgque.dead_letter where message_id between 1000 and 1059 and attempt = 6");
  // as autovacuum does, sooner or later
  await a.query("analyze pgque.dead_letter");
  const buffers = async (query: string): Promise<number> => {
    let last = 0;
    for (let i = 0; i < 3; i++) {
      const { rows } = await a.query(`explain (analyze, buffers, format json) select * from pgque.${query}`);
      const plan = rows[0]["QUERY PLAN"][0].Plan;
      last = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    }
    return last;
  };
  // the table alone has more than 300
  expect(await buffers("dead_letters('q', max_messages => 10)")).toBeLessThan(50);
  expect(await buffers("dead_letters('q', before_id => 30000, max_messages => 10, reason_like => null)")).toBeLessThan(
    50,
  );
  expect(await buffers("purge_dead_letters('q', ids => '{1,2,3}')")).toBeLessThan(50);
  expect(await buffers("purge_dead_letters('q', max_messages => 10)")).toBeLessThan(150);
  expect(await buffers("redrive('q', max_messages => 10)")).toBeLessThan(300);
});

test("many are purged or sent again as fast after a vacuum that found the table empty", async () => {
  await a.query("delete from pgque.dead_letter");
  // as autovacuum leaves it when somebody else uses the table: its pages stay, and are taken for empty from then on
  await a.query("vacuum (truncate off, analyze) pgque.dead_letter");
  await a.query(
    `insert into pgque.dead_letter (queue_id, consumer, message_id, attempt, type, payload, created_at)
     select (select id from pgque.queue where name = 'q'), 'c', n, 1, 't', 'x', now() from generate_series(1, 25000) as n`,
  );
  // a look at all of them for each one takes minutes
  await a.query("set statement_timeout = '20s'");
  expect(await count("purge_dead_letters", { max_messages: 10_000 })).toBe(10_000);
  expect(await count("redrive", { max_messages: 10_000 })).toBe(10_000);
  await a.query("reset statement_timeout");
});
