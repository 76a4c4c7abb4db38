import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { blocked, type Blocked } from "../../../test/support/interleave.ts";
import { until } from "../../../test/support/until.ts";
import { pause, randomFrom } from "../cursor/workload.ts";
import { drain, makeQueue } from "../support/queue.ts";

let database: TestDatabase;
let sender: pg.Client;
let worker: pg.Client;
let listener: pg.Client;
let gate: pg.Client;
let observer: pg.Client;
/** Notifications that have come. */
let notified = 0;

beforeAll(async () => {
  database = await freshDatabase();
  const connect = (): Promise<pg.Client> => database.connect();
  [sender, worker, listener] = [await connect(), await connect(), await connect()];
  [gate, observer] = [await connect(), await connect()];
  await makeQueue(sender, ["c"], { rotation_bytes: 1_000_000_000 });
  listener.on("notification", () => (notified += 1));
  await listener.query(`listen "pgque_q"`);
  // a second gate, between the insert and the look at the flag; open unless somebody holds its lock
  await sender.query(`
    create function public.gate() returns trigger language plpgsql as
      $$ begin perform pg_advisory_lock_shared(42), pg_advisory_unlock_shared(42); return null; end $$;
    create trigger gate after insert on pgque.message_1_0 for each statement execute function public.gate()`);
});
afterAll(() => database.drop());

/** What a worker does before it sleeps, in three statements. */
class Sleeper {
  open = true;
  got: string[] = [];

  readonly steps = [
    () => this.#raise(),
    async () => {
      const { rows } = await listener.query("select pgque.has_open_senders('q') as open");
      this.open = rows[0].open;
    },
    async () => {
      this.got = await drain(worker);
    },
  ];

  /** It sleeps now, and nothing but a notification wakes it. */
  get sleeps(): boolean {
    return !this.open && this.got.length === 0;
  }

  async #raise(): Promise<void> {
    await until(
      async () => (await listener.query("select pgque.raise_idle_flag('q') as up")).rows[0].up,
      "the flag is up",
    );
  }
}

/** A sender that is stopped before its insert and after it. */
function sendInSteps(payload: string): (() => Promise<void>)[] {
  let sending: Blocked<pg.QueryResult>;
  return [
    async () => {
      await gate.query("begin; lock table pgque.message_1_0 in exclusive mode");
      await sender.query("begin");
      sending = await blocked(observer, sender, "select pgque.send('q', $1::text)", [payload]);
    },
    async () => {
      await gate.query("select pg_advisory_lock(42)");
      await gate.query("commit");
      const inTrigger = "select from pg_locks where locktype = 'advisory' and objid = 42 and not granted";
      await until(async () => (await observer.query(inTrigger)).rowCount === 1, "it has inserted");
    },
    async () => {
      await gate.query("select pg_advisory_unlock(42)");
      await sending.result;
    },
    () => sender.query("commit").then(() => undefined),
  ];
}

/** All orders in which the steps of two can be taken, as the turns of the first: 0 or 1. */
function orders(first: number, second: number): number[][] {
  if (first === 0 && second === 0) return [[]];
  const begun = (who: number, rest: number[][]): number[][] => rest.map((order) => [who, ...order]);
  return [
    ...(first > 0 ? begun(0, orders(first - 1, second)) : []),
    ...(second > 0 ? begun(1, orders(first, second - 1)) : []),
  ];
}

describe("No wake-up is lost", () => {
  test.each(orders(4, 3).map((order) => order.map((who) => (who === 0 ? "sender" : "worker"))))(
    "when the turns are %s %s %s %s %s %s %s",
    async (...turns) => {
      const sleeper = new Sleeper();
      const steps = { sender: sendInSteps(turns.join(" ")), worker: [...sleeper.steps] };
      const before = notified;
      for (const turn of turns) await steps[turn].shift()?.();
      await listener.query("select pgque.lower_idle_flag('q')");
      if (sleeper.sleeps) await until(() => notified > before, "the worker is woken", 2000);
      else if (sleeper.got.length === 0) expect(sleeper.open, "it asks again").toBe(true);
      await drain(worker);
    },
  );

  test("to senders that commit at any moment", async () => {
    const random = randomFrom(7);
    for (let round = 0; round < 150; round++) {
      const sending = (async () => {
        await pause(random() * 4);
        await sender.query("begin");
        await sender.query("select pgque.send('q', $1::text)", [`${round}`]);
        if (random() < 0.5) await pause(random() * 4);
        await sender.query("commit");
      })();
      await wakesFor(`${round}`, random);
      await sending;
    }
  });
});

/** A worker without a poll on the side: it takes its steps, and sleeps until it is notified. */
async function wakesFor(payload: string, random: () => number): Promise<void> {
  for (let got: string[] = []; !got.includes(payload);) {
    const before = notified;
    const sleeper = new Sleeper();
    for (const step of sleeper.steps) {
      await step();
      if (random() < 0.3) await pause(random() * 2);
    }
    got = sleeper.got;
    if (sleeper.sleeps) await until(() => notified > before, `message ${payload} wakes the worker`, 5000);
    await listener.query("select pgque.lower_idle_flag('q')");
  }
}
