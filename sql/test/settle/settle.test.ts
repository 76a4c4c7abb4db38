import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { ack, drain, maintain, makeQueue, receive, send } from "../support/queue.ts";

let database: TestDatabase;
let a: pg.Client;
let b: pg.Client;
let observer: pg.Client;

beforeEach(async () => {
  database = await freshDatabase();
  [a, b, observer] = [await database.connect(), await database.connect(), await database.connect()];
  await makeQueue(a, ["c"], { rotation_bytes: 1_000_000_000, max_retries: 2 });
});
afterEach(() => database.drop());

async function nack(
  client: pg.Client,
  batch: string,
  ids: string[],
  retryAfter = "0 s",
  reason: string | null = null,
): Promise<number> {
  const { rows } = await client.query(
    "select pgque.nack(batch_id => $1, message_ids => $2, retry_after => $3, reason => $4) as n",
    [batch, ids, retryAfter, reason],
  );
  return rows[0].n;
}

async function ackSome(client: pg.Client, batch: string, ids: string[]): Promise<number> {
  const { rows } = await client.query("select pgque.ack(batch_id => $1, message_ids => $2) as done", [batch, ids]);
  return rows[0].done;
}

async function openBatches(client: pg.Client): Promise<number> {
  const { rows } = await client.query("select count(*)::int as n from pgque.open_batches(1)");
  return rows[0].n;
}

describe("ack", () => {
  test("finishes a batch once: the second says 0 and warns", async () => {
    await send(a, "one");
    const got = await receive(a);
    const warnings: string[] = [];
    a.on("notice", (notice) => warnings.push(notice.message ?? ""));
    expect(await ack(a, got.batch)).toBe(1);
    expect(warnings).toEqual([]);
    expect(await ack(a, got.batch)).toBe(0);
    expect(warnings).toEqual([`batch not found: ${got.batch}`]);
    expect(await drain(a)).toEqual([]);
  });

  test("of a batch that never was says 0, whatever the number", async () => {
    for (const id of ["0", "1", "-1", "9223372036854775807", "4194304"]) expect(await ack(a, id)).toBe(0);
  });

  test("of some messages leaves the rest open, and the last of them finishes the batch", async () => {
    await send(a, "one", "two", "three");
    const got = await receive(a);
    expect(await ackSome(a, got.batch, got.ids.slice(0, 2))).toBe(1);
    expect(await openBatches(a)).toBe(1);
    expect(await ackSome(a, got.batch, got.ids.slice(1))).toBe(1);
    expect(await openBatches(a)).toBe(0);
    expect(await ack(a, got.batch)).toBe(0);
  });

  test("of a message that is not in the batch is refused", async () => {
    await send(a, "one");
    const got = await receive(a);
    await expect(ackSome(a, got.batch, ["99"])).rejects.toMatchObject({
      code: "PQ003",
      message: expect.stringContaining("99"),
    });
    expect(await openBatches(a)).toBe(1);
  });

  test("commits or not with the transaction it is part of", async () => {
    await send(a, "one");
    const got = await receive(a);
    await a.query("begin");
    await ack(a, got.batch);
    await a.query("rollback");
    expect(await openBatches(a)).toBe(1);
    expect(await ack(a, got.batch)).toBe(1);
  });

  test("by two sessions at once: the second waits for the first, and does it if the first rolls back", async () => {
    await send(a, "one");
    const got = await receive(a);
    await a.query("begin");
    await ack(a, got.batch);
    const second = await blocked(observer, b, "select pgque.ack($1) as done", [got.batch]);
    await a.query("rollback");
    expect((await second.result).rows).toEqual([{ done: 1 }]);
  });

  test("of part and nack of part by two sessions at once do not overlook each other", async () => {
    await send(a, "one", "two");
    const got = await receive(a);
    await a.query("begin");
    await ackSome(a, got.batch, got.ids.slice(0, 1));
    const second = await blocked(
      observer,
      b,
      "select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s') as n",
      [got.batch, got.ids],
    );
    await a.query("commit");
    expect((await second.result).rows).toEqual([{ n: 1 }]);
    expect(await openBatches(a)).toBe(0);
    expect(await drain(a)).toEqual(["two"]);
  });
});

describe("nack", () => {
  test("gives messages back with their id and one attempt more, and the rest can be acked", async () => {
    await send(a, "good", "bad");
    const first = await receive(a);
    expect(await nack(a, first.batch, [first.ids[1] as string])).toBe(1);
    expect(await ack(a, first.batch)).toBe(1);
    const second = await receive(a);
    expect(second).toMatchObject({ payloads: ["bad"], attempts: [2], ids: [first.ids[1]] });
  });

  test("with a delay: not before it is due", async () => {
    await send(a, "later");
    const got = await receive(a);
    await nack(a, got.batch, got.ids, "1 hour");
    await maintain(a);
    expect((await receive(a)).payloads).toEqual([]);
  });

  test("with a delay: by maintenance when it is due, even though nothing else happens", async () => {
    await send(a, "later");
    const got = await receive(a);
    await nack(a, got.batch, got.ids, "200 ms");
    await until(async () => (await maintain(a)) > 0, "the message is due");
    expect((await receive(a)).payloads).toEqual(["later"]);
  });

  test("after max_retries makes a dead letter of it, with the reason and the attempts", async () => {
    await send(a, "poison");
    for (let attempt = 1; attempt <= 3; attempt++) {
      const got = await receive(a);
      expect(got.attempts).toEqual([attempt]);
      await nack(a, got.batch, got.ids, "0 s", `boom ${attempt}`);
    }
    expect((await receive(a)).payloads).toEqual([]);
    const { rows } = await a.query("select consumer, attempt, payload, reason from pgque.dead_letter");
    expect(rows).toEqual([{ consumer: "c", attempt: 3, payload: "poison", reason: "boom 3" }]);
  });

  test("gives back to the consumer that had the message, and to no other", async () => {
    await a.query(`select pgque.subscribe('q', 'd', '{"from": "earliest", "mode": "shared"}')`);
    await send(a, "one");
    const got = await receive(a, "c");
    await nack(a, got.batch, got.ids);
    await ack(a, got.batch);
    expect(await drain(a, "d")).toEqual(["one"]);
    expect(await drain(a, "c")).toEqual(["one"]);
  });

  test("of one message in PgQue's shape: a ten-field row", async () => {
    await send(a, "one");
    const { rows } = await a.query("select * from pgque.receive('q', 'c')");
    const message = rows[0];
    await a.query(
      "select pgque.nack($1, row($2, $1, $3, $4, null, now(), null, null, null, null)::pgque.message, '0 s', 'why')",
      [message.batch_id, message.msg_id, message.type, message.payload],
    );
    const again = await a.query("select msg_id, retry_count from pgque.receive('q', 'c')");
    expect(again.rows).toEqual([{ msg_id: message.msg_id, retry_count: 1 }]);
  });

  test("twice of the same message gives it back once", async () => {
    await send(a, "one", "two");
    const got = await receive(a);
    expect(await nack(a, got.batch, [got.ids[0] as string])).toBe(1);
    expect(await nack(a, got.batch, [got.ids[0] as string])).toBe(0);
    await ack(a, got.batch);
    expect(await drain(a)).toEqual(["one"]);
  });

  test("keeps type, headers and creation time", async () => {
    await a.query(`select pgque.send('q', 'created', 'x', '{"headers": {"trace": "ü"}}')`);
    const first = (await a.query("select * from pgque.receive_messages('q', 'c')")).rows[0];
    await nack(a, first.batch_id, [first.message_id]);
    const second = (await a.query("select * from pgque.receive_messages('q', 'c')")).rows[0];
    for (const field of ["type", "headers", "created_at", "payload", "message_id"])
      expect(second[field]).toEqual(first[field]);
  });
});

describe("settle", () => {
  test("finishes a batch in one call: some retried, some released without using an attempt, the others acked", async () => {
    await send(a, "done", "retry", "release");
    const got = await receive(a);
    const { rows } = await a.query(
      "select pgque.settle($1, retry_ids => $2, retry_after => $3::interval[], reasons => $4, release_ids => $5) as done",
      [got.batch, [got.ids[1]], ["0 s"], ["boom"], [got.ids[2]]],
    );
    expect(rows[0].done).toBe(1);
    expect(await openBatches(a)).toBe(0);
    const again = await receive(a);
    expect(Object.fromEntries(again.payloads.map((payload, i) => [payload, again.attempts[i]]))).toEqual({
      retry: 2,
      release: 1,
    });
  });

  test("… others snoozed, and others dead, in the same call", async () => {
    await send(a, "done", "retry", "release", "snooze", "dead");
    const { batch, ids } = await receive(a);
    const { rows } = await a.query(
      `select pgque.settle($1, retry_ids => array[$2]::bigint[], retry_after => '{0 s}', reasons => '{boom}', release_ids => array[$3]::bigint[],
                           snooze_ids => array[$4]::bigint[], snooze_after => '{0 s}', dead_ids => array[$5]::bigint[], dead_reasons => '{hopeless}') as done`,
      [batch, ...ids.slice(1)],
    );
    expect(rows[0].done).toBe(1);
    const again = await receive(a);
    expect(Object.fromEntries(again.payloads.map((payload, i) => [payload, again.attempts[i]]))).toEqual({
      retry: 2,
      release: 1,
      snooze: 1,
    });
    const { rows: dead } = await a.query("select payload, attempt, reason from pgque.dead_letter");
    expect(dead).toEqual([{ payload: "dead", attempt: 1, reason: "hopeless" }]);
  });

  test("makes no dead letter of what is released, although max_retries was lowered meanwhile", async () => {
    await send(a, "one");
    const first = await receive(a);
    await nack(a, first.batch, first.ids);
    const second = await receive(a);
    await a.query(`select pgque.change_queue('q', '{"max_retries": 0}')`);
    await a.query("select pgque.settle($1, release_ids => $2)", [second.batch, second.ids]);
    expect(await receive(a)).toMatchObject({ payloads: ["one"], attempts: [2] });
  });

  test("without anything to give back is an ack", async () => {
    await send(a, "one");
    const got = await receive(a);
    expect((await a.query("select pgque.settle($1) as done", [got.batch])).rows[0].done).toBe(1);
    expect(await drain(a)).toEqual([]);
  });

  test("refuses arrays that do not belong together", async () => {
    await send(a, "one");
    const { batch, ids } = await receive(a);
    await expect(a.query("select pgque.settle($1, retry_ids => $2)", [batch, ids])).rejects.toMatchObject({
      code: "PQ004",
    });
    await expect(
      a.query("select pgque.settle($1, retry_ids => $2, retry_after => '{0 s}', release_ids => $2)", [batch, ids]),
    ).rejects.toMatchObject({ code: "PQ004", message: expect.stringContaining("in common") });
    await expect(
      a.query("select pgque.settle($1, retry_ids => $2, retry_after => '{-1 s}')", [batch, ids]),
    ).rejects.toMatchObject({
      code: "PQ004",
      message: expect.stringContaining("-00:00:01"),
    });
  });
});

describe("A worker whose lease is gone cannot ack", () => {
  test("nor nack or settle: the messages are with others, one attempt further", async () => {
    await send(a, "one", "two");
    const lost = await receive(a, "c", 10, "1 ms");
    await ackSome(a, lost.batch, lost.ids.slice(0, 1));
    expect(await maintain(b)).toBe(1);
    const settle = "select pgque.settle($1, release_ids => $2) as done";
    const refuse = async (): Promise<void> => {
      expect(await ack(a, lost.batch)).toBe(0);
      expect(await ackSome(a, lost.batch, lost.ids)).toBe(0);
      expect(await nack(a, lost.batch, lost.ids)).toBe(0);
      expect((await a.query(settle, [lost.batch, lost.ids])).rows).toEqual([{ done: 0 }]);
    };
    await refuse();
    const again = await receive(b);
    expect(again).toMatchObject({ payloads: ["two"], attempts: [2] });
    await refuse();
    expect(await ack(b, again.batch), "the one that has the lease can").toBe(1);
    expect(await drain(b)).toEqual([]);
  });
});

describe("a lease", () => {
  test("lasts as long as its worker's heartbeat", async () => {
    await send(a, "one");
    const got = await receive(a, "c", 10, "1 ms", "worker-1");
    await a.query("select pgque.heartbeat('worker-1', '1 hour')");
    expect(await maintain(b)).toBe(0);
    expect(await ack(a, got.batch)).toBe(1);
  });

  test("ends with the heartbeat of its worker, not with another's", async () => {
    await send(a, "one");
    await receive(a, "c", 10, "1 ms", "worker-1");
    await a.query("select pgque.heartbeat('worker-1', '1 ms'), pgque.heartbeat('worker-2', '1 hour')");
    await until(async () => (await maintain(b)) === 1, "worker-1 is dead");
    expect((await receive(b)).payloads).toEqual(["one"]);
  });

  test("that ends again and again makes a dead letter of the message", async () => {
    await send(a, "crasher");
    for (let attempt = 1; attempt <= 3; attempt++) {
      await receive(a, "c", 10, "1 ms");
      expect(await maintain(b)).toBe(1);
    }
    const { rows } = await a.query("select payload, reason from pgque.dead_letter");
    expect(rows).toEqual([{ payload: "crasher", reason: "the lease ended before the message was settled" }]);
  });

  test("recovery finds the open batch among thousands that are finished", async () => {
    await send(a, ...Array.from({ length: 300 }, (_, i) => `${i}`));
    const open = await receive(a, "c", 1, "1 ms");
    for (let i = 0; i < 299; i++) await ack(a, (await receive(a, "c", 1)).batch);
    expect(await maintain(a)).toBe(1);
    await send(a, ...Array.from({ length: 300 }, (_, i) => `${i}`));
    for (let i = 0; i < 301; i++) await ack(a, (await receive(a, "c", 1)).batch);
    const { rows } = await a.query(
      "select settled_before::int as n from pgque.batch_1 where consumer_id = 1 order by batch_no desc limit 1",
    );
    expect(rows[0].n, "everything before the last hundred is known to be settled").toBeGreaterThan(500);
    expect(open.payloads).toEqual(["0"]);
  });
});
