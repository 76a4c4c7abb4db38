import type pg from "pg";
import { consumerName } from "../../../adapters/support/pgque-queue.ts";
import { Latencies, type LatencySummary } from "../../../measure/histogram.ts";
import { bytes, ms, ratio, whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark, medianRatio, timed, type MicrobenchmarkContext } from "../microbenchmark.ts";
import { locksOf, receive, send, withQueue, type QueueDatabase } from "../queue.ts";

export const queues = defineMicrobenchmark({
  name: "queues",
  statement: "what many queues in one schema cost: relations, catalog, creation, maintenance, locks and sends",
  method: [
    "every queue has one shared consumer and is idle; the queues that are sent to are in two databases, one with all queues and one with a single one, in turn",
    "create_queue: the median of the first and of the last ones, without subscribe; the functions that find a queue by its name are rewritten by each",
    "relations: rows of pg_class in the schema, indexes and sequences included; catalog: what pg_catalog has grown by",
    "maintain(), which looks at a hundred queues at most, maintain(queue) and call maintain_all(): the median of some calls, once the session has planned its statements",
    "locks: rows of pg_locks that the transaction of one call holds at its end, on a connection that has made the same call before; " +
      "the server has room for max_locks_per_transaction * (max_connections + max_prepared_transactions), and pg_dump takes one for each table",
    "send: one message a transaction on one connection with synchronous_commit off; the first of a session compiles the functions",
  ],
  sizes: {
    full: { queues: 1000, window: 50, calls: 30, sessions: 5, rounds: 3, sends: 2000 },
    quick: { queues: 100, window: 10, calls: 20, sessions: 3, rounds: 2, sends: 500 },
  },
  async measure(context, sizes) {
    return withQueue(context, {}, (one) =>
      withQueue(context, {}, async (many) => ({
        created: await createQueues(context, many, sizes),
        idle: await maintainIdle(context, many, sizes.calls),
        locks: await countLocks(many),
        sends: await timeSends(context, { many, one }, sizes),
      })),
    );
  },
  values: {
    createFirst: ["create_queue, first ones", ms, ({ created }) => created.first?.p50],
    createLast: ["create_queue, last ones", ms, ({ created }) => created.last?.p50],
    createRatio: ["create_queue, last / first", ratio, ({ created }) => medianRatio(created.last, created.first)],
    relationsEach: ["relations, each queue", whole, ({ created }) => created.each("relations")],
    relations: ["relations, all", whole, ({ created }) => created.catalog.relations],
    tables: ["tables, all", whole, ({ created }) => created.catalog.tables],
    catalogEach: ["catalog, each queue", bytes, ({ created }) => created.each("bytes")],
    maintainOne: ["maintain(queue), idle", ms, ({ idle }) => idle.one?.p50, atMost(1, ms)],
    maintain: ["maintain(), idle", ms, ({ idle }) => idle.some?.p50],
    maintainAll: ["maintain_all(), idle", ms, ({ idle }) => idle.all?.p50, atMost(1000, ms)],
    locksSend: ["locks, send", whole, ({ locks }) => locks.send],
    locksReceive: ["locks, receive of nothing", whole, ({ locks }) => locks.receive],
    locksMaintainOne: ["locks, maintain(queue)", whole, ({ locks }) => locks.maintainOne],
    locksMaintain: ["locks, maintain()", whole, ({ locks }) => locks.maintain],
    locksRoom: ["locks the server has room for", whole, ({ locks }) => locks.room],
    sendFirst: ["first send of a session", ms, ({ sends }) => sends.many.first.summary()?.p50],
    sendFirstAlone: ["first send of a session, one queue", ms, ({ sends }) => sends.one.first.summary()?.p50],
    send: ["send, p50", ms, ({ sends }) => sends.many.later.summary()?.p50],
    sendAlone: ["send, p50, one queue", ms, ({ sends }) => sends.one.later.summary()?.p50],
    sendRatio: [
      "send, p50, all / one",
      ratio,
      ({ sends: { many, one } }) => medianRatio(many.later.summary(), one.later.summary()),
    ],
  },
});

async function createQueues(
  { signal, note }: MicrobenchmarkContext,
  { admin }: QueueDatabase,
  { queues: count, window }: { queues: number; window: number },
) {
  const before = await catalogOf(admin);
  const [first, last] = [new Latencies(), new Latencies()];
  // the database has one queue already
  for (let n = 1; n < count; n++) {
    signal.throwIfAborted();
    if (n % 100 === 0) note(`${whole(n)} of ${whole(count)} queues`);
    const name = `queue ${n}`;
    const record = (tookMs: number): void => {
      if (n <= window) first.record(tookMs);
      if (n >= count - window) last.record(tookMs);
    };
    await timed({ record }, () => admin.query("select pgque.create_queue($1)", [name]));
    await admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared"}')`, [name, consumerName]);
  }
  const catalog = await catalogOf(admin);
  const each = (what: "relations" | "bytes"): number => (catalog[what] - before[what]) / (count - 1);
  return { first: first.summary(), last: last.summary(), catalog, each };
}

async function catalogOf(admin: pg.Client): Promise<{ relations: number; tables: number; bytes: number }> {
  const { rows } = await admin.query<{ relations: number; tables: number; bytes: string }>(
    `select count(*) filter (where relnamespace = 'pgque'::regnamespace)::int as relations,
            count(*) filter (where relnamespace = 'pgque'::regnamespace and relkind in ('r', 'p'))::int as tables,
            sum(pg_total_relation_size(oid)) filter (where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r') as bytes
       from pg_class`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error("pg_class is empty");
  return { ...row, bytes: Number(row.bytes) };
}

async function maintainIdle({ signal, note }: MicrobenchmarkContext, { admin }: QueueDatabase, calls: number) {
  const time = async (statement: string): Promise<LatencySummary | null> => {
    note(statement);
    const times = new Latencies();
    for (let n = 0; n <= calls + 5; n++) {
      signal.throwIfAborted();
      // the first reads what has just been created, and the first five of a session are planned for their arguments
      await timed(n > 5 ? times : new Latencies(), () => admin.query(statement));
    }
    return times.summary();
  };
  return {
    one: await time("select pgque.maintain('queue 1')"),
    some: await time("select pgque.maintain()"),
    all: await time("call pgque.maintain_all()"),
  };
}

async function countLocks({ connect }: QueueDatabase) {
  const client = await connect("locks");
  const locks = async (call: () => Promise<unknown>): Promise<number | undefined> => {
    await call();
    return locksOf(client, call);
  };
  const { rows } = await client.query<{ room: number }>(
    `select current_setting('max_locks_per_transaction')::int
              * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) as room`,
  );
  return {
    room: rows[0]?.room,
    receive: await locks(() => receive(client, 100)),
    send: await locks(() => send(client)),
    maintainOne: await locks(() => client.query("select pgque.maintain('queue 1')")),
    maintain: await locks(() => client.query("select pgque.maintain()")),
  };
}

/** In the database of many queues and in that of one, in turn. */
async function timeSends(
  { signal, note }: MicrobenchmarkContext,
  { many, one }: Record<"many" | "one", QueueDatabase>,
  { sessions, rounds, sends: perRound }: { sessions: number; rounds: number; sends: number },
) {
  const side = ({ connect }: QueueDatabase) => ({
    open: () => connect("send", { synchronousCommit: "off" }),
    first: new Latencies(),
    later: new Latencies(),
  });
  const sides = { many: side(many), one: side(one) };
  for (let n = 0; n < sessions; n++) {
    for (const { open, first } of Object.values(sides)) {
      const client = await open();
      await timed(first, () => send(client));
    }
  }
  const senders: { client: pg.Client; later: Latencies }[] = [];
  for (const { open, later } of Object.values(sides)) senders.push({ client: await open(), later });
  for (const { client } of senders) for (let n = 0; n < 100; n++) await send(client);
  for (let round = 0; round < rounds; round++) {
    note(`sends, round ${round + 1} of ${rounds}`);
    for (const { client, later } of senders) {
      for (let n = 0; n < perRound; n++) {
        signal.throwIfAborted();
        await timed(later, () => send(client));
      }
    }
  }
  return sides;
}
