import { expect } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { messagesInserted, updatesAndDeletes } from "../support/statistics.ts";
import { consume, newLedger, note, pause, produce, randomFrom, type Ledger } from "./workload.ts";

const queue = "orders";
const consumers = ["billing", "shipping"];
const patienceMs = 30_000;

/**
 * 16 producers with random commits, rollbacks, savepoints and transactions of up to two seconds, two consumers with three workers
 * each, some receives and some subscribes inside sending transactions, segments rotating throughout.
 */
export async function exactlyOnce(durationMs: number, seed: number): Promise<void> {
  await using database = await freshDatabase();
  const random = randomFrom(seed);
  const ledger = newLedger();
  const admin = await database.connect();
  await admin.query(
    `select pgque.create_queue($1, '{"rotation_bytes": 8192, "rotation_period": "300 ms", "rotation_min_interval": "100 ms"}')`,
    [queue],
  );
  for (const consumer of consumers)
    await admin.query('select pgque.subscribe($1, $2, \'{"from": "earliest", "mode": "shared"}\')', [queue, consumer]);

  const end = performance.now() + durationMs;
  const sending = { over: false };
  const rotations = { count: 0 };
  // a busy machine may need longer until enough has happened, but not for ever
  const isEnough = (): boolean => rotations.count > 3 && ledger.committed.size > 100 && ledger.rolledBack.size > 10;
  const sent = (): boolean => performance.now() > end && (isEnough() || performance.now() > end + patienceMs);
  const producers = Array.from({ length: 16 }, async (_, i) => {
    const task = { client: await database.connect(), queue, ledger, random, name: `p${i}`, until: sent };
    await produce(task, consumers[i % 2] as string);
    await task.client.end();
  });
  const workers = consumers.flatMap((consumer) =>
    [1, 2, 3].map(async (i) => {
      const task = {
        client: await database.connect(),
        queue,
        ledger,
        random,
        name: `${consumer}${i}`,
        until: () => sending.over,
      };
      await consume(task, consumer);
      await task.client.end();
    }),
  );
  const maintenance = (async () => {
    const client = await database.connect();
    while (!sending.over) {
      const { rows } = await client.query("select pgque.maintain($1) as steps", [queue]);
      rotations.count += Number(rows[0].steps);
      await pause(50);
    }
    await client.end();
  })();
  const latecomer = subscribeWhileSending(database, ledger, end);

  await Promise.all(producers);
  sending.over = true;
  await Promise.all([...workers, maintenance]);
  const asked = await latecomer;

  for (const consumer of consumers) checkReceived(ledger, consumer);
  // not before: what it has received may have committed, and its sender not have heard of it
  const audited = ledger.received.get("audit") ?? [];
  expect(audited.filter((payload) => (ledger.committed.get(payload) ?? 0) < asked)).toEqual([]);
  expect(ledger.committed.size).toBeGreaterThan(100);
  expect(ledger.rolledBack.size).toBeGreaterThan(10);
  // transactions that receive and stay open hold rotation up; it has to go on between them
  expect(rotations.count, "segments rotate throughout").toBeGreaterThan(3);
  const inserted = ledger.committed.size + ledger.rolledBack.size;
  await until(async () => (await messagesInserted(admin)) >= inserted, "the statistics of all sessions have arrived");
  expect(await updatesAndDeletes(admin), "no update and no delete outside the registry").toEqual([]);
}

/** Every committed message once, no rolled-back one ever. */
function checkReceived(ledger: Ledger, consumer: string): void {
  const received = ledger.received.get(consumer) ?? [];
  const once = new Set(received);
  const missing = [...ledger.committed.keys()].filter((payload) => !once.has(payload));
  const phantom = [...once].filter((payload) => !ledger.committed.has(payload));
  expect({ consumer, missing, phantom, duplicates: received.length - once.size }).toEqual({
    consumer,
    missing: [],
    phantom: [],
    duplicates: 0,
  });
}

/**
 * A consumer that subscribes in the middle of things, inside a sending transaction: it gets what that transaction sends after it,
 * and everything whose commit was asked for after its own; nothing whose commit was done before it asked. Returns when that was.
 */
async function subscribeWhileSending(
  database: Awaited<ReturnType<typeof freshDatabase>>,
  ledger: Ledger,
  end: number,
): Promise<number> {
  const client = await database.connect();
  await until(async () => ledger.committed.size > 50, "some messages were sent");
  await client.query("begin");
  await client.query("select pgque.send($1, 'latecomer/before')", [queue]);
  const asked = performance.now();
  await client.query(`select pgque.subscribe($1, 'audit', '{"mode": "shared"}')`, [queue]);
  const answered = performance.now();
  await client.query("select pgque.send($1, 'latecomer/after')", [queue]);
  await pause(50);
  await client.query("commit");
  for (const payload of ["latecomer/before", "latecomer/after"]) {
    ledger.committed.set(payload, performance.now());
    ledger.commitAsked.set(payload, performance.now());
  }
  while (performance.now() < end) await receiveAll(client, ledger);
  await until(async () => {
    await receiveAll(client, ledger);
    const got = new Set(ledger.received.get("audit"));
    return [...ledger.commitAsked].every(
      ([payload, at]) => at < answered || !ledger.committed.has(payload) || got.has(payload),
    );
  }, "the latecomer gets all that was committed after it subscribed");
  await client.end();
  const received = ledger.received.get("audit") ?? [];
  expect(received.length - new Set(received).size, "duplicates").toBe(0);
  expect(received).toContain("latecomer/before");
  return asked;
}

async function receiveAll(client: import("pg").Client, ledger: Ledger): Promise<void> {
  const { rows } = await client.query("select batch_id, payload from pgque.receive($1, 'audit', 500)", [queue]);
  if (rows.length === 0) return pause(10);
  note(
    ledger,
    "audit",
    rows.map((row) => row.payload as string),
  );
  await client.query("select pgque.ack($1)", [rows[0].batch_id]);
}
