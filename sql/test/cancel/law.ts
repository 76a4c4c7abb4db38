import { expect } from "vitest";
import type pg from "pg";
import { freshDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { pause, randomFrom } from "../cursor/workload.ts";
import { hurryDelayed } from "../support/delayed.ts";
import { everAgain, isConnectionLoss } from "../support/sessions.ts";
import { updatesAndDeletes } from "../support/statistics.ts";

/** What happened to one message for one consumer, in the order in which its commits were known. */
interface History {
  /** When receives that returned it were asked for, and when their commit was known, ms. Without one: it may have committed. */
  received: { asked: number; done?: number }[];
  /** When the commit of a first answer "cancelled" was known. */
  cancelled?: number;
}

interface Run {
  database: TestDatabase;
  random: () => number;
  /** Whether connections are ended, and leases so short that batches are taken away. */
  faults: boolean;
  phase: { sending: boolean; working: boolean };
  sent: string[];
  histories: Map<string, History>;
  /** Messages that were replaced, and when that was known, ms. */
  replaced: Map<string, number>;
}

const consumers = ["once", "again", "lanes"];

function historyOf(run: Run, id: string, consumer: string): History {
  const key = `${id} ${consumer}`;
  const known = run.histories.get(key) ?? { received: [] };
  run.histories.set(key, known);
  return known;
}

/**
 * Senders, sixteen workers of a shared consumer that acks, one that gives back, and an ordered one; sessions that cancel what was sent lately, by id and by
 * key, and senders that replace or postpone, some of which roll back; rotation, delays, and connections that are ended in the middle of anything. "cancelled" was answered if and only if no
 * receive returns the message after that; without faults, and where nothing is given back, none returned it before either. And no receive after the answer
 * "replaced" is the first of a consumer that returns the old message.
 */
export async function cancelledIsNeverReceived(seconds: number, seed: number, faults: boolean): Promise<void> {
  await using database = await freshDatabase();
  const admin = await database.connect();
  await admin.query("select pgque.create_queue('q', $1)", [
    { rotation_bytes: 8192, rotation_min_interval: "0 s", rotation_period: "1 day", partitions: 4, allow_cancel: true },
  ]);
  for (const consumer of consumers)
    await admin.query("select pgque.subscribe('q', $1, $2)", [
      consumer,
      { from: "earliest", mode: consumer === "lanes" ? "ordered" : "shared" },
    ]);
  await hurryDelayed(admin);
  const run: Run = {
    database,
    random: randomFrom(seed),
    faults,
    phase: { sending: true, working: true },
    sent: [],
    histories: new Map(),
    replaced: new Map(),
  };
  const sessions: Promise<void>[] = [];
  const start = (count: number, wanted: () => boolean, work: (client: pg.Client) => Promise<void>): void => {
    for (let i = 0; i < count; i++) sessions.push(everAgain(database, wanted, work));
  };
  start(
    4,
    () => run.phase.sending,
    (client) => send(run, client),
  );
  start(
    3,
    () => run.phase.sending,
    (client) => cancel(run, client),
  );
  for (const [count, consumer] of [
    [8, "once"],
    [5, "again"],
    [3, "lanes"],
  ] as const)
    start(
      count,
      () => run.phase.working,
      (client) => work(run, client, consumer),
    );
  start(
    1,
    () => run.phase.working,
    (client) => maintain(run, client),
  );
  if (faults) sessions.push(endSessions(run, admin));
  await pause(seconds * 1000);
  // a slow machine needs longer for as many
  const cancelledSoFar = (): number => [...run.histories.values()].filter((history) => history.cancelled).length;
  await until(
    () => cancelledSoFar() > 20 * seconds && run.replaced.size > seconds,
    "so many are cancelled and replaced that it means something",
    60_000,
  );
  run.phase.sending = false;
  await pause(1500);
  run.phase.working = false;
  await Promise.all(sessions);
  expect(await updatesAndDeletes(admin)).toEqual([]);
  // what connections that were ended had in hand comes back
  await admin.query("select pgque.deliver_delayed('q')");
  for (const consumer of consumers) {
    await admin.query("select pgque.seek('q', $1, 'earliest')", [consumer]);
    const asked = performance.now();
    for (const id of await drainIds(admin, consumer))
      historyOf(run, id, consumer).received.push({ asked, done: Infinity });
  }
  const wrong: string[] = [];
  for (const [key, history] of run.histories) {
    if (history.cancelled === undefined) continue;
    if (history.received.some(({ asked }) => asked > history.cancelled!)) wrong.push(`received later: ${key}`);
    if (!faults && key.endsWith("once") && history.received.some(({ done }) => done !== undefined))
      wrong.push(`received: ${key}`);
  }
  for (const [id, known] of run.replaced)
    for (const consumer of consumers)
      if ((historyOf(run, id, consumer).received[0]?.asked ?? 0) > known) wrong.push(`replaced, and received: ${id}`);
  expect(wrong).toEqual([]);
  for (const consumer of ["once", "lanes"])
    expect(
      run.sent.filter((id) => {
        const { received, cancelled: at } = historyOf(run, id, consumer);
        return at === undefined && received.length === 0 && !run.replaced.has(id);
      }),
      `neither received nor cancelled by ${consumer}`,
    ).toEqual([]);
}

async function drainIds(client: pg.Client, consumer: string): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const { rows } = await client.query("select batch_id, message_id from pgque.receive_messages('q', $1)", [consumer]);
    if (rows.length === 0) return ids;
    ids.push(...rows.map((row) => row.message_id));
    await client.query("select pgque.ack($1)", [rows[0].batch_id]);
  }
}

async function send(run: Run, client: pg.Client): Promise<void> {
  const { random, phase } = run;
  while (phase.sending) {
    const mine: string[] = [];
    const replaced: string[] = [];
    await client.query("begin");
    // one that replaces holds cursors until its commit: it is alone in its transaction
    const replacing = random() < 0.2;
    for (let i = replacing ? 0 : Math.floor(random() * 4); i >= 0; i--) {
      const options = {
        key: `${Math.floor(random() * 20)}`,
        // what is replaced waits for long
        // one in a transaction: sessions that took several in any order would wait for each other
        ...(replacing || (i === 0 && random() < 0.6) ? { delay: random() } : {}),
        ...(replacing || random() < 0.3 ? { dedupe_key: `${Math.floor(random() * 50)}`, dedupe_ttl: 2 } : {}),
        ...(replacing ? { if_waiting: random() < 0.5 ? "replace" : "postpone" } : {}),
      };
      const { rows } = await client.query("select * from pgque.send_deduplicated('q', 't', $1, $2)", [
        `${random()} ${"x".repeat(100)}`,
        options,
      ]);
      if (!rows[0].deduplicated || rows[0].replaced_id !== null) mine.push(rows[0].id);
      if (rows[0].replaced_id !== null) replaced.push(rows[0].replaced_id);
    }
    if (random() < 0.1) await pause(random() * 300);
    if (random() < 0.1) {
      await client.query("rollback");
      continue;
    }
    await client.query("commit");
    const known = performance.now();
    for (const id of replaced) run.replaced.set(id, known);
    run.sent.push(...mine);
    await pause(random() * 20);
  }
}

async function cancel(run: Run, client: pg.Client): Promise<void> {
  const { random, phase, sent } = run;
  while (phase.sending) {
    await pause(random() * 10);
    const recent = sent.slice(-60);
    const ids = recent.filter(() => random() < 0.2);
    const consumer = random() < 0.3 ? consumers[Math.floor(random() * 3)] : null;
    const undone = random() < 0.1;
    await client.query("begin");
    const { rows } =
      random() < 0.2
        ? await client.query("select * from pgque.cancel_by_key('q', $1, $2)", [
            [`${Math.floor(random() * 50)}`],
            consumer,
          ])
        : await client.query("select * from pgque.cancel('q', $1, $2)", [ids, consumer]);
    if (random() < 0.1) await pause(random() * 50);
    if (undone) {
      await client.query("rollback");
      continue;
    }
    await client.query("commit");
    const known = performance.now();
    for (const { message_id: id, consumer: of, state } of rows)
      if (state === "cancelled") historyOf(run, id, of).cancelled ??= known;
  }
}

async function work(run: Run, client: pg.Client, consumer: string): Promise<void> {
  const { random, phase } = run;
  while (phase.working) {
    const max = 1 + Math.floor(random() * 8);
    const undone = random() < 0.05;
    if (undone) await client.query("begin");
    const asked = performance.now();
    const { rows } = await client.query(
      "select batch_id, message_id from pgque.receive_messages('q', $1, worker => $2, max_messages => $3, lease => $4)",
      [consumer, `w${random()}`, max, !run.faults ? "1 min" : random() < 0.1 ? "0.05 s" : "2 s"],
    );
    if (undone) {
      await client.query("rollback");
      continue;
    }
    const done = performance.now();
    for (const { message_id: id } of rows) historyOf(run, id, consumer).received.push({ asked, done });
    if (rows.length === 0) {
      await pause(random() * 20);
      continue;
    }
    const [{ batch_id: batch }] = rows;
    const back = rows.map((row) => row.message_id).filter(() => random() < 0.3);
    if (random() < 0.1) await pause(random() * 200);
    if (consumer === "once" || back.length === 0) await client.query("select pgque.ack($1)", [batch]);
    else
      await client.query("select pgque.settle($1, retry_ids => $2, retry_after => $3)", [
        batch,
        back,
        back.map(() => `${(random() * 0.4).toFixed(3)} s`),
      ]);
  }
}

async function maintain(run: Run, client: pg.Client): Promise<void> {
  while (run.phase.working) {
    await client.query("select pgque.maintain('q')");
    await pause(run.random() * 20);
  }
}

/** Ends a session of the test now and then, whatever it does. */
async function endSessions(run: Run, admin: pg.Client): Promise<void> {
  while (run.phase.working) {
    await pause(run.random() * 300);
    try {
      await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1",
      );
    } catch (error) {
      if (!isConnectionLoss(error)) throw error;
    }
  }
}
