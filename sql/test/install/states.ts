import { expect } from "vitest";
import type pg from "pg";
import { until } from "../../../test/support/until.ts";
import type { TestDatabase } from "../../../test/support/database.ts";
import { fillRing, makeQueue } from "../support/queue.ts";

/** What a state comes to once the schema is of another version. */
interface State {
  /** What the queue `q` is to hand out, by payload, and at which attempt. */
  comes: [payload: string, attempt: number][];
  /** What is done and found before that. */
  check?: () => Promise<void>;
}

/** A connection of before the upgrade, with statements that are prepared and have been run so often that their plans are kept. */
interface Session {
  client: pg.Client;
  value: (call: string, ...values: unknown[]) => Promise<unknown>;
  receive: (queue: string, lease?: string, worker?: string) => Promise<Received[]>;
}

interface Received {
  batch_id: string;
  message_id: string;
  payload: string;
  attempt: number;
}

/**
 * Brings messages of several queues into every state that there is. What is returned is called when the schema has been upgraded: it goes on with
 * each on the same connection, and finds that nothing is lost and nothing comes twice.
 */
export async function makeStates(database: TestDatabase): Promise<() => Promise<void>> {
  const session = sessionOf(await database.connect());
  const { client, value } = session;
  await makeQueue(client, ["c"], { allow_expiry: true, allow_cancel: true, max_retries: 2 });
  const states: State[] = [];
  // the last one leaves messages that wait
  for (const make of [
    settled,
    dead,
    deduplicated,
    cancelled,
    leased,
    retried,
    scheduled,
    delayed,
    paused,
    prioritized,
    ordered,
    waiting,
  ])
    states.push(await make(session));
  return async () => {
    for (const { check } of states) await check?.();
    const wanted = states.flatMap(({ comes }) => comes).map(([payload, attempt]) => `${payload}, attempt ${attempt}`);
    const got: string[] = [];
    await until(async () => {
      await value("pgque.maintain('q')");
      got.push(...(await drained(session, "q")).map(({ payload, attempt }) => `${payload}, attempt ${attempt}`));
      return got.length >= wanted.length;
    }, `all has come: ${wanted.length}`);
    expect(got.toSorted()).toEqual(wanted.toSorted());
    const { rows } = await client.query(
      "select depth::int, in_flight::int, open_batches::int from pgque.consumer_status('q')",
    );
    expect(rows).toEqual([{ depth: 0, in_flight: 0, open_batches: 0 }]);
  };
}

function sessionOf(client: pg.Client): Session {
  const prepared = async (text: string, values: unknown[]): Promise<Record<string, unknown>[]> =>
    (await client.query({ name: text.slice(0, 63), text, values })).rows;
  const receive = async (queue: string, lease = "10 min", worker: string | null = null): Promise<Received[]> => {
    const statement =
      "select batch_id, message_id, payload, attempt from pgque.receive_messages($1, 'c', $2, 1000, $3)";
    return (await prepared(statement, [queue, worker, lease])) as unknown as Received[];
  };
  return {
    client,
    receive,
    value: async (call, ...values) => (await prepared(`select ${call} as value`, values))[0]?.["value"],
  };
}

/** Sends one message and receives it. */
async function opened(
  { value, receive }: Session,
  payload: string,
  lease?: string,
  worker?: string,
): Promise<Received> {
  await value("pgque.send('q', 'default', $1::text)", payload);
  const [received, ...others] = await receive("q", lease, worker);
  expect([received?.payload, others]).toEqual([payload, []]);
  return received as Received;
}

/** Receives and acks until nothing is left. */
async function drained({ value, receive }: Session, queue: string): Promise<Received[]> {
  const all: Received[] = [];
  for (;;) {
    const got = await receive(queue);
    const [first] = got;
    if (first === undefined) return all;
    all.push(...got);
    expect(await value("pgque.ack($1)", first.batch_id)).toBe(1);
  }
}

const payloads = async (session: Session, queue: string): Promise<string[]> =>
  (await drained(session, queue)).map(({ payload }) => payload);

/** So often that the server keeps plans that know no values. */
async function settled(session: Session): Promise<State> {
  for (let i = 0; i < 8; i += 1) {
    const { batch_id } = await opened(session, `settled ${i}`);
    expect(await session.value("pgque.ack($1)", batch_id)).toBe(1);
  }
  return { comes: [] };
}

async function dead(session: Session): Promise<State> {
  const { batch_id, message_id } = await opened(session, "dead");
  expect(await session.value("pgque.bury($1, $2::bigint[], 'no good')", batch_id, [message_id])).toBe(1);
  return {
    comes: [["dead", 1]],
    check: async () => {
      expect(await session.value("(select reason from pgque.dead_letters('q'))")).toBe("no good");
      expect(await session.value("pgque.redrive('q')")).toBe(1);
    },
  };
}

async function deduplicated(session: Session): Promise<State> {
  const once = `pgque.send('q', 'default', 'once', '{"dedupe_key": "k"}')`;
  const id = await session.value(once);
  expect(await payloads(session, "q")).toEqual(["once"]);
  return { comes: [], check: async () => expect(await session.value(once)).toBe(id) };
}

/** One that waits, and one that is delayed. */
async function cancelled({ value }: Session): Promise<State> {
  const ids = [
    await value("pgque.send('q', 'default', 'cancelled')"),
    await value(`pgque.send('q', 'default', 'cancelled', '{"delay": 0.2}')`),
  ];
  const states = "(select array_agg(c.state) from pgque.cancel('q', $1::bigint[]) c)";
  expect(await value(states, ids)).toEqual(["cancelled", "cancelled"]);
  return { comes: [], check: async () => expect(await value(states, ids)).toEqual(["cancelled", "cancelled"]) };
}

/** Open under a lease; open by heartbeats alone; and one whose lease runs out meanwhile. */
async function leased(session: Session): Promise<State> {
  const { value } = session;
  await value("pgque.heartbeat('alive', '10 min')");
  const open = await opened(session, "leased", "10 min", "busy");
  const kept = await opened(session, "kept alive", "0.01 s", "alive");
  await opened(session, "lapsed", "0.01 s");
  return {
    comes: [["lapsed", 2]],
    check: async () => {
      await value("pgque.maintain('q')");
      for (const { batch_id } of [open, kept]) {
        expect(await value("pgque.extend($1, '5 min')", batch_id)).toBe(1);
        expect(await value("pgque.ack($1)", batch_id)).toBe(1);
      }
    },
  };
}

async function retried(session: Session): Promise<State> {
  for (const [payload, after] of [
    ["retry due", "0.01 s"],
    ["retry to come", "1 s"],
  ] as const) {
    const { batch_id, message_id } = await opened(session, payload);
    expect(await session.value("pgque.nack($1, $2::bigint[], $3)", batch_id, [message_id], after)).toBe(1);
  }
  return {
    comes: [
      ["retry due", 2],
      ["retry to come", 2],
    ],
  };
}

async function delayed({ value }: Session): Promise<State> {
  await value("pgque.send('q', 'default', $1::text, $2)", "delayed", { delay: 0.01 });
  await value("pgque.send('q', 'default', $1::text, $2)", "far off", { delay: 7200 });
  return {
    comes: [
      ["delayed", 1],
      ["far off", 1],
    ],
    check: async () => void (await value("pgque.deliver_delayed('q')")),
  };
}

/** One of whose times has been run, and the next is due. */
async function scheduled(session: Session): Promise<State> {
  const { value } = session;
  const run = (seconds: number): Promise<unknown> =>
    value("pgque.run_schedule('s', $1::timestamptz + make_interval(secs => $2))", at, seconds);
  await value("pgque.schedule('s', 'q', '* * * * * *', 'run'::text)");
  const at = await value("date_trunc('second', clock_timestamp())");
  expect(await run(0)).not.toBeNull();
  expect(await payloads(session, "q")).toEqual(["run"]);
  return {
    comes: [["run", 1]],
    check: async () => {
      expect(await run(0)).toBeNull();
      expect(await run(1)).not.toBeNull();
      expect(await run(1)).toBeNull();
    },
  };
}

async function paused(session: Session): Promise<State> {
  const { client, value } = session;
  await client.query("select pgque.create_queue('paused')");
  await client.query("select pgque.subscribe('paused', 'c')");
  await client.query("select pgque.send('paused', 'held'), pgque.pause('paused')");
  return {
    comes: [],
    check: async () => {
      expect(await payloads(session, "paused")).toEqual([]);
      await value("pgque.resume('paused')");
      expect(await payloads(session, "paused")).toEqual(["held"]);
    },
  };
}

async function prioritized(session: Session): Promise<State> {
  const { client, value } = session;
  await client.query(`select pgque.create_queue('urgent', '{"priorities": 3}')`);
  await client.query(`select pgque.subscribe('urgent', 'c')`);
  const sendAt = (priority: number): Promise<unknown> =>
    value("pgque.send('urgent', 'default', $1::text, $2)", `priority ${priority}`, { priority });
  for (const priority of [0, 2, 1]) await sendAt(priority);
  return {
    comes: [],
    check: async () => {
      await sendAt(2);
      expect(await payloads(session, "urgent")).toEqual(["priority 2", "priority 2", "priority 1", "priority 0"]);
    },
  };
}

/** The first of three of one key has failed, and the others wait for it. */
async function ordered(session: Session): Promise<State> {
  const { client, value, receive } = session;
  await client.query(`select pgque.create_queue('by key', '{"partitions": 2}')`);
  await client.query(`select pgque.subscribe('by key', 'c', '{"mode": "ordered"}')`);
  const sendNext = (payload: string): Promise<unknown> =>
    value("pgque.send('by key', 'default', $1::text, $2)", payload, { key: "k" });
  for (const payload of ["1", "2", "3"]) await sendNext(payload);
  const got = await receive("by key");
  expect(got.map(({ payload }) => payload)).toEqual(["1", "2", "3"]);
  expect(await value("pgque.nack($1, $2::bigint[], $3)", got[0]?.batch_id, [got[0]?.message_id], "0.01 s")).toBe(1);
  return {
    comes: [],
    check: async () => {
      await sendNext("4");
      const all: string[] = [];
      await until(async () => {
        await value("pgque.maintain('by key')");
        all.push(...(await payloads(session, "by key")));
        return all.length >= 4;
      }, "all of the key have come");
      expect(all).toEqual(["1", "2", "3", "4"]);
    },
  };
}

/** In several segments; one of them runs out meanwhile. */
async function waiting({ client, value }: Session): Promise<State> {
  const sent = await fillRing(client, 4);
  await value("pgque.send('q', 'default', $1::text, $2)", "lives", { ttl: 3600 });
  await value("pgque.send('q', 'default', $1::text, $2)", "expired", { ttl: 0.001 });
  return { comes: [...sent, "lives"].map((payload) => [payload, 1]) };
}
