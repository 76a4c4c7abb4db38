import { expect } from "vitest";
import type pg from "pg";
import { ownServer, type OwnServer } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { pause, randomFrom } from "../cursor/workload.ts";
import { ack, makeQueue, receive, send } from "../support/queue.ts";
import { everAgain } from "../support/sessions.ts";

interface Ledger {
  /** Its commit was acknowledged: it must arrive. */
  sent: Set<string>;
  /** The connection broke during its commit: it may arrive. */
  uncertain: Set<string>;
  received: Map<string, number>;
  /** Acked, and the ack was acknowledged: it must not come again after that. */
  acked: Set<string>;
  /** The connection broke during its ack: it may come again. */
  ackUncertain: Set<string>;
  afterAck: string[];
}

/** Stops Postgres as a crash would, again and again, in the middle of everything, with a ledger outside Postgres. */
export async function survivesCrashes(crashes: number, seed: number): Promise<void> {
  await using database = await ownServer();
  const random = randomFrom(seed);
  const ledger: Ledger = {
    sent: new Set(),
    uncertain: new Set(),
    received: new Map(),
    acked: new Set(),
    ackUncertain: new Set(),
    afterAck: [],
  };
  const admin = await database.connect();
  await makeQueue(admin, ["c"], { rotation_period: "300 ms", rotation_min_interval: "100 ms", max_retries: 1000 });
  await admin.end();

  const phase = { sending: true, receiving: true };
  const tasks = [0, 1, 2, 3].flatMap((i) => [
    everAgain(
      database,
      () => phase.sending,
      (client) => produce(client, ledger, random, `p${i}`, phase),
    ),
    everAgain(
      database,
      () => phase.receiving,
      (client) => consume(client, ledger, random, phase),
    ),
  ]);
  tasks.push(
    everAgain(
      database,
      () => phase.receiving,
      (client) => maintain(client, phase),
    ),
  );
  try {
    await crashRepeatedly(database, ledger, crashes);
    phase.sending = false;
    await allSettled(database, ledger);
  } finally {
    phase.sending = false;
    phase.receiving = false;
    await Promise.all(tasks);
  }

  const phantom = [...ledger.received.keys()].filter(
    (payload) => !ledger.sent.has(payload) && !ledger.uncertain.has(payload),
  );
  expect(phantom, "received without having been sent").toEqual([]);
  expect(ledger.afterAck, "received again after an acknowledged ack").toEqual([]);
}

async function crashRepeatedly(database: OwnServer, ledger: Ledger, crashes: number): Promise<void> {
  const progress = async (what: string): Promise<void> => {
    const sent = ledger.sent.size;
    await until(() => ledger.sent.size > sent + 100, what);
  };
  for (let crash = 0; crash < crashes; crash++) {
    await progress("messages are sent between two crashes");
    await database.server.restart({ immediate: true });
  }
  await progress("messages are sent after the last crash");
}

/** Waits until nothing is under way in the database and everything that was sent is known, or may be, to be acked. */
async function allSettled(database: OwnServer, ledger: Ledger): Promise<void> {
  const admin = await database.connect();
  const missing = (): string[] =>
    [...ledger.sent].filter((payload) => !ledger.acked.has(payload) && !ledger.ackUncertain.has(payload));
  try {
    await until(
      async () =>
        missing().length === 0 && (await admin.query("select pgque.open_batches(id) from pgque.queue")).rowCount === 0,
      "every message that was sent is acked",
      60_000,
    );
  } catch (cause) {
    const lost = missing();
    const received = lost.filter((payload) => ledger.received.has(payload)).length;
    throw new Error(`${lost.length} messages are lost, ${received} of them were received`, { cause });
  }
}

async function maintain(client: pg.Client, phase: { receiving: boolean }): Promise<void> {
  while (phase.receiving) {
    await client.query("select pgque.maintain()");
    await pause(20);
  }
}

async function produce(
  client: pg.Client,
  ledger: Ledger,
  random: () => number,
  name: string,
  phase: { sending: boolean },
): Promise<void> {
  while (phase.sending) {
    const payloads = Array.from({ length: 1 + Math.floor(random() * 5) }, () => `${name}/${random()}`);
    for (const payload of payloads) ledger.uncertain.add(payload);
    await send(client, ...payloads);
    for (const payload of payloads) ledger.sent.add(payload);
  }
}

async function consume(
  client: pg.Client,
  ledger: Ledger,
  random: () => number,
  phase: { receiving: boolean },
): Promise<void> {
  // what a worker does: a lost receive is only delivered again
  await client.query("set synchronous_commit = off");
  while (phase.receiving) {
    const got = await receive(client, "c", 1 + Math.floor(random() * 50), "500 ms");
    if (got.payloads.length === 0) {
      await pause(10);
      continue;
    }
    for (const payload of got.payloads) {
      if (ledger.acked.has(payload)) ledger.afterAck.push(payload);
      ledger.received.set(payload, (ledger.received.get(payload) ?? 0) + 1);
    }
    for (const payload of got.payloads) ledger.ackUncertain.add(payload);
    await client.query("set synchronous_commit = on");
    const done = await ack(client, got.batch);
    await client.query("set synchronous_commit = off");
    for (const payload of got.payloads) {
      ledger.ackUncertain.delete(payload);
      if (done === 1) ledger.acked.add(payload);
    }
  }
}
