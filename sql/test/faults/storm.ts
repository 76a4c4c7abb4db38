import { expect } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { pause, randomFrom } from "../cursor/workload.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { ack, drain, maintain, makeQueue } from "../support/queue.ts";
import { everAgain } from "../support/sessions.ts";
import { catalogChanges, updatesAndDeletes } from "../support/statistics.ts";
import { newLedger, type DeadLetter } from "./storm/ledger.ts";
import { brokenLaws } from "./storm/laws.ts";
import { noted } from "./storm/receipts.ts";
import { produce } from "./storm/senders.ts";
import { Worker } from "./storm/worker.ts";
import {
  cancelStatements,
  maintainAlways,
  maintainExposed,
  sessionsInTheStorm,
  terminateSessions,
  type Storm,
} from "./storm/weather.ts";

const consumers = ["billing", "shipping"];
const maxRetries = 8;

/** Everything at once, whatever can go wrong going wrong, with a ledger outside Postgres; then a calm in which all is drained. */
export async function survivesStorm(seconds: number, seed: number): Promise<void> {
  await using database = await freshDatabase();
  const storm = await gather(database, seed);
  const admin = storm.witness;
  const over = Promise.all(begin(storm));
  await Promise.race([longEnough(storm, seconds), over]).finally(() => (storm.raging = false));
  await over;
  await until(async () => (await sessionsInTheStorm(admin)) === 0, "all sessions are gone");
  await drainEverything(storm);

  const { rows: dead } = await admin.query<DeadLetter>("select consumer, payload, attempt from pgque.dead_letter");
  expect(brokenLaws(storm.ledger, consumers, dead, maxRetries)).toEqual([]);
  expect(missing(storm)).toEqual([]);
  expect(dead.length).toBeGreaterThan(0);
  await expectNoWaste(admin, storm.pointers.size);
  await redriveAll(admin, dead);
}

/** A queue whose segments, like those of the delayed store, are full all the time. */
async function gather(database: TestDatabase, seed: number): Promise<Storm> {
  const witness = await database.connect();
  await makeQueue(witness, consumers, { rotation_bytes: 65_536, max_retries: maxRetries });
  await hurryDelayed(witness);
  let number = 0;
  return {
    database,
    ledger: newLedger(),
    random: randomFrom(seed),
    raging: true,
    witness,
    lookUps: database.pool({ max: 2 }),
    nextNumber: () => (number += 1),
    pointers: new Set(),
  };
}

function begin(storm: Storm): Promise<void>[] {
  const again = (work: (client: pg.Client) => Promise<void>): Promise<void> =>
    everAgain(storm.database, () => storm.raging, work, 5);
  return [
    ...Array.from({ length: 6 }, () => again((client) => produce(storm, client))),
    ...consumers.flatMap((consumer) =>
      Array.from({ length: 4 }, () => again((client) => new Worker(storm, client, consumer).run())),
    ),
    ...[maintainAlways, maintainExposed, cancelStatements, terminateSessions].map((work) =>
      again((client) => work(storm, client)),
    ),
  ];
}

/** Until every message is acked or dead: those that are always bad are nacked here too. */
async function drainEverything(storm: Storm): Promise<void> {
  const admin = storm.witness;
  await until(
    async () => {
      await maintain(admin);
      for (const consumer of consumers) await drainOnce(storm, consumer);
      const { rows } = await admin.query(
        `select sum(depth)::int + sum(in_flight)::int + sum(open_batches)::int + (select delayed::int from pgque.queue_status('q')) as left
           from pgque.consumer_status('q')`,
      );
      return rows[0].left === 0;
    },
    "everything is drained",
    100_000,
  );
}

async function drainOnce({ witness, ledger }: Storm, consumer: string): Promise<void> {
  const { rows } = await witness.query("select * from pgque.receive_messages('q', $1, null, 1000)", [consumer]);
  const got = noted(ledger, consumer, rows);
  const poison = got.filter(({ payload }) => payload.startsWith("poison"));
  for (const delivery of got) delivery.transaction = "committed";
  const [first] = got;
  if (first === undefined) return;
  if (poison.length > 0) {
    await witness.query("select pgque.nack(batch_id => $1, message_ids => $2, retry_after => '0 s')", [
      first.batch,
      poison.map(({ id }) => id),
    ]);
  }
  if (poison.length < got.length) expect(await ack(witness, first.batch)).toBe(1);
  for (const delivery of got)
    delivery.ends.push({ how: poison.includes(delivery) ? "nack" : "ack", certain: true, notBefore: 0 });
}

/** So many seconds, and on a slow machine until everything has happened, but no longer than a minute more. */
async function longEnough(storm: Storm, seconds: number): Promise<void> {
  await pause(seconds * 1000);
  for (let more = 0; more < 60 && missing(storm).length > 0; more += 1) await pause(1000);
}

/** What has not happened, or not often enough: a storm in which nothing went wrong proves nothing. */
function missing({ ledger, pointers }: Storm): string[] {
  const fates = [...ledger.sent.values()].map(({ fate }) => fate);
  const ends = ledger.deliveries.flatMap((delivery) => delivery.ends);
  const happened = {
    committed: fates.filter((fate) => fate === "committed").length - 100,
    "rolled back": fates.filter((fate) => fate === "rolled back").length,
    acked: ends.filter(({ how }) => how === "ack").length,
    nacked: ends.filter(({ how }) => how === "nack").length,
    released: ends.filter(({ how }) => how === "release").length,
    snoozed: ends.filter(({ how }) => how === "snooze").length,
    buried: ends.filter(({ how }) => how === "bury").length,
    cancelled: ledger.cancelled,
    refused: ledger.refused,
    rotations: pointers.size - 3,
  };
  return Object.entries(happened).flatMap(([what, times]) => (times > 0 ? [] : [what]));
}

/** No row of a queue was updated or deleted, and of the catalog only a few for each time that a pointer moved. */
async function expectNoWaste(admin: pg.Client, rotations: number): Promise<void> {
  expect(await updatesAndDeletes(admin)).toEqual([]);
  // measured: 15 to 20 for each, and 300 for the making of the queue
  expect(await catalogChanges(admin)).toBeLessThan(30 * rotations + 500);
}

/** Each dead letter comes once more, and nothing else. */
async function redriveAll(admin: pg.Client, dead: DeadLetter[]): Promise<void> {
  await admin.query("select pgque.redrive('q')");
  for (const consumer of consumers) {
    const letters = dead.filter((letter) => letter.consumer === consumer).map(({ payload }) => payload);
    expect((await drain(admin, consumer)).toSorted()).toEqual(letters.toSorted());
  }
}
