import { expect } from "vitest";
import type pg from "pg";
import type { TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

/** Who was sent what, and what of it is settled: by what is left a restored copy is judged. */
export class Ledger {
  readonly #sent = new Map<string, string[]>();
  readonly #settled = new Map<string, string[]>();
  readonly consumers: [queue: string, consumer: string][] = [
    ["orders", "a"],
    ["orders", "b"],
    ["orders", "exclusive"],
    ["mails", "m"],
    ["kept", "k"],
    ["accounts", "ordered"],
    ["alerts", "p"],
  ];
  /** The message that was sent with the dedupe key "once". */
  onceId = "";

  sent(queue: string, payloads: string[]): void {
    this.#sent.set(queue, [...this.all(queue), ...payloads]);
  }

  settled(queue: string, consumer: string, payloads: string[]): void {
    const reader = `${queue} ${consumer}`;
    this.#settled.set(reader, [...(this.#settled.get(reader) ?? []), ...payloads]);
  }

  all(queue: string): string[] {
    return this.#sent.get(queue) ?? [];
  }

  unsettled(queue: string, consumer: string): string[] {
    const settled = new Set(this.#settled.get(`${queue} ${consumer}`));
    return this.all(queue).filter((payload) => !settled.has(payload));
  }
}

interface Got {
  batch: string;
  ids: string[];
  payloads: string[];
  attempts: number[];
}

async function receive(client: pg.Client, queue: string, consumer: string, max = 1000, lease = "1 hour"): Promise<Got> {
  const { rows } = await client.query("select * from pgque.receive_messages($1, $2, max_messages => $3, lease => $4)", [
    queue,
    consumer,
    max,
    lease,
  ]);
  return {
    batch: rows[0]?.batch_id,
    ids: rows.map((row) => row.message_id),
    payloads: rows.map((row) => row.payload),
    attempts: rows.map((row) => row.attempt),
  };
}

export async function drain(client: pg.Client, queue: string, consumer: string): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const { batch, payloads } = await receive(client, queue, consumer);
    if (payloads.length === 0) return all;
    all.push(...payloads);
    await client.query("select pgque.ack($1)", [batch]);
  }
}

/**
 * Work in every state there is: several segments, some of them truncated; received and not, open, partly settled, taken over; retries at
 * once, near and far; delayed sends; dead letters; a queue without a consumer, and one that keeps what was received.
 */
export async function work(database: TestDatabase): Promise<Ledger> {
  const ledger = new Ledger();
  const client = await database.connect();
  const late = await database.connect();
  const send = async (on: pg.Client, queue: string, payloads: string[], options: object | null = null) => {
    await on.query("select pgque.send_batch($1, 'default', $2::text[], options => $3)", [queue, payloads, options]);
    ledger.sent(queue, payloads);
  };
  const take = async (consumer: string, max: number, settle: (got: Got) => Promise<string[]>, queue = "orders") =>
    ledger.settled(queue, consumer, await settle(await receive(client, queue, consumer, max)));
  const ackAll = async ({ batch, payloads }: Got) => {
    await client.query("select pgque.ack($1)", [batch]);
    return payloads;
  };
  const ackFirst = (count: number) => async (got: Got) => {
    await client.query("select pgque.ack($1, $2)", [got.batch, got.ids.slice(0, count)]);
    return got.payloads.slice(0, count);
  };

  const options = { rotation_bytes: 8192, rotation_min_interval: "0 s" };
  await client.query("select pgque.create_queue('dropped'), pgque.create_queue('orders', $1)", [options]);
  await client.query("select pgque.create_queue('mails', '{\"max_retries\": 0}'), pgque.create_queue('unread')");
  await client.query("select pgque.create_queue('kept', '{\"retention\": \"1 day\"}'), pgque.drop_queue('dropped')");
  await client.query(
    `select pgque.create_queue('accounts', '{"partitions": 16}'), pgque.create_queue('alerts', '{"priorities": 10}')`,
  );
  for (const [queue, consumer] of ledger.consumers)
    await client.query("select pgque.subscribe($1, $2, $3)", [
      queue,
      consumer,
      { from: "earliest", mode: consumer === "exclusive" || consumer === "ordered" ? consumer : "shared" },
    ]);

  await client.query("select pgque.subscribe('orders', 'gone', '{\"mode\": \"shared\"}')");

  for (let round = 0; round < 5; round++) {
    await send(
      client,
      "orders",
      Array.from({ length: 60 }, (_, i) => `${round} ${String(i).padStart(2, "0")} ${"x".repeat(150)}`),
    );
    if (round === 1) {
      await late.query("begin");
      await send(late, "orders", ["late 1", "late 2"]);
    }
    if (round === 0) {
      await take("a", 60, ackAll);
      await take("b", 60, ackAll);
      await take("exclusive", 60, ackAll);
      await take("gone", 60, async ({ batch, ids }) => {
        await client.query("select pgque.nack($1, $2::bigint[], '1 min')", [batch, ids.slice(0, 10)]);
        await client.query("select pgque.nack($1, $2::bigint[], '0 s')", [batch, ids.slice(10, 20)]);
        await client.query("select pgque.unsubscribe('orders', 'gone')");
        return [];
      });
    }
    if (round === 1) {
      await take("a", 40, ackFirst(10));
      await take("exclusive", 20, ackAll);
      const lost = await receive(client, "orders", "exclusive", 20, "1 ms");
      ledger.settled("orders", "exclusive", await ackFirst(5)(lost));
      await until(
        async () => (await receive(client, "orders", "exclusive", 20)).attempts[0] === 2,
        "what is left is taken over",
      );
      await take("exclusive", 20, ackFirst(7));
    }
    if (round === 2) {
      await take("a", 40, async ({ batch, ids, payloads }) => {
        await client.query("select pgque.settle($1, $2, $3)", [
          batch,
          ids.slice(0, 15),
          Array.from({ length: 15 }, (_, i) => (i < 5 ? "0 s" : i < 10 ? "1 min" : "2 hours")),
        ]);
        return payloads.slice(15);
      });
      await late.query("commit");
    }
    if (round === 3) {
      await take("a", 30, async () => []);
      await take("b", 45, ackAll);
    }
    await client.query("select pgque.maintain()");
    await client.query("select pgque.maintain()");
  }
  await send(client, "orders", ["soon 1", "soon 2"], { delay: 60 });
  await send(client, "orders", ["far 1", "far 2"], { delay: 7200 });
  await client.query("select pgque.move_delayed('delayed_soon_0', null, clock_timestamp() + '30 s')");

  await send(
    client,
    "mails",
    Array.from({ length: 10 }, (_, i) => `mail ${i}`),
  );
  await take(
    "m",
    4,
    async ({ batch, ids, payloads }) => {
      await client.query("select pgque.nack(batch_id => $1, message_ids => $2, reason => 'bad')", [batch, ids]);
      return payloads;
    },
    "mails",
  );
  await take("m", 3, ackAll, "mails");
  await send(client, "unread", ["one", "two", "three"]);
  await send(
    client,
    "kept",
    Array.from({ length: 10 }, (_, i) => `kept ${i}`),
  );
  await take("k", 6, ackAll, "kept");
  await take("k", 2, async () => [], "kept");

  await send(client, "accounts", ["x1", "y1", "x2", "y2", "x3"], { keys: ["x", "y", "x", "y", "x"] });
  const waits = async ({ batch, ids }: Got) => {
    await client.query("select pgque.nack($1, $2::bigint[], '1 hour')", [batch, ids]);
    return [];
  };
  for (const settle of [waits, ackAll]) await take("ordered", 1, settle, "accounts");
  await send(client, "alerts", ["low"], { priority: 1 });
  await send(client, "alerts", ["high 1", "high 2"], { priority: 9 });
  await take("p", 1, ackAll, "alerts");
  const once = "select pgque.send('alerts', 'default', 'once', '{\"dedupe_key\": \"once\"}') as id";
  ledger.onceId = (await client.query(once)).rows[0].id;
  ledger.sent("alerts", ["once"]);
  return ledger;
}

/** Everything that was not settled comes once, nothing that was, and the queues go on like others. */
export async function checkRepaired(database: TestDatabase, ledger: Ledger): Promise<void> {
  const client = await database.connect();
  await client.query(
    "select pgque.send('orders', 'new'), pgque.send('orders', 'default', 'new and late', '{\"delay\": 1}')",
  );
  ledger.sent("orders", ["new", "new and late"]);

  const got = new Map<string, string[]>();
  for (const [queue, consumer] of ledger.consumers)
    got.set(`${queue} ${consumer}`, await drain(client, queue, consumer));
  const rounds = (got.get("orders exclusive") ?? []).filter((payload) => /^\d/.test(payload));
  expect(rounds).toEqual(rounds.toSorted());
  const accounts = got.get("accounts ordered") ?? [];
  for (const key of ["x", "y"]) {
    const ofKey = accounts.filter((payload) => payload.startsWith(key));
    expect(ofKey).toEqual(ofKey.toSorted());
  }
  expect(got.get("alerts p")).toEqual(["high 2", "low", "once"]);
  const again = "select pgque.send('alerts', 'default', 'again', '{\"dedupe_key\": \"once\"}') as id";
  expect((await client.query(again)).rows).toEqual([{ id: ledger.onceId }]);
  await client.query("select pgque.move_delayed(pgque.delayed_table('later'), 'soon', clock_timestamp() + '1 year')");
  for (const table of ["delayed_soon_0", "delayed_soon_1"])
    await client.query("select pgque.move_delayed($1, null, clock_timestamp() + '1 year')", [table]);
  for (const [queue, consumer] of ledger.consumers) {
    const all = [...(got.get(`${queue} ${consumer}`) ?? []), ...(await drain(client, queue, consumer))];
    expect(all.toSorted(), `${queue} ${consumer}`).toEqual(ledger.unsettled(queue, consumer).toSorted());
  }
  expect((await client.query("select sum(depth + in_flight)::int as left from pgque.consumer_status()")).rows).toEqual([
    { left: 0 },
  ]);

  // a consumer that may have the number of one that was dropped
  await client.query("select pgque.subscribe('orders', 'later')");
  expect(await drain(client, "orders", "later")).toEqual([]);
  for (const queue of ["unread", "kept"]) {
    await client.query("select pgque.subscribe($1, 'later', '{\"from\": \"earliest\"}')", [queue]);
    expect((await drain(client, queue, "later")).toSorted()).toEqual(ledger.all(queue).toSorted());
  }
  expect((await client.query("select pgque.redrive('mails') as sent")).rows).toEqual([{ sent: 4 }]);
  expect(await drain(client, "mails", "m")).toHaveLength(4);

  // nothing that was copied is in the way of rotation
  for (let i = 0; i < 12; i++) await client.query("select pgque.maintain()");
  const { rows } = await client.query("select bytes::int from pgque.segment_status('orders') where not is_current");
  expect(rows.map((row) => row.bytes)).toEqual(rows.map(() => 0));
  expect((await updatesAndDeletes(client)).filter(({ table }) => table !== "dead_letter")).toEqual([]);
}
