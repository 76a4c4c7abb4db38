import type pg from "pg";
import { Latencies } from "../../measure/histogram.ts";
import { bytes, ms, ratio, whole } from "../../report/format.ts";
import { atMost } from "../../scenario/target.ts";
import { consumerName } from "../../adapters/support/pgque-queue.ts";
import { defineFigure, type FigureContext } from "./figure.ts";
import { quotient } from "../../measure/quotient.ts";
import { receive, send, withQueue, type QueueDatabase } from "./queue.ts";

export const queues = defineFigure({
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
  values: {
    createFirst: { label: "create_queue, first ones", format: ms },
    createLast: { label: "create_queue, last ones", format: ms },
    createRatio: { label: "create_queue, last / first", format: ratio },
    relationsEach: { label: "relations, each queue", format: whole },
    relations: { label: "relations, all", format: whole },
    tables: { label: "tables, all", format: whole },
    catalogEach: { label: "catalog, each queue", format: bytes },
    maintainOne: { label: "maintain(queue), idle", format: ms, target: atMost(1, ms) },
    maintain: { label: "maintain(), idle", format: ms },
    maintainAll: { label: "maintain_all(), idle", format: ms, target: atMost(1000, ms) },
    locksSend: { label: "locks, send", format: whole },
    locksReceive: { label: "locks, receive of nothing", format: whole },
    locksMaintainOne: { label: "locks, maintain(queue)", format: whole },
    locksMaintain: { label: "locks, maintain()", format: whole },
    locksRoom: { label: "locks the server has room for", format: whole },
    sendFirst: { label: "first send of a session", format: ms },
    sendFirstAlone: { label: "first send of a session, one queue", format: ms },
    send: { label: "send, p50", format: ms },
    sendAlone: { label: "send, p50, one queue", format: ms },
    sendRatio: { label: "send, p50, all / one", format: ratio },
  },
  async measure(context, sizes) {
    return withQueue(context, {}, (alone) =>
      withQueue(context, {}, async (many) => {
        const created = await createQueues(context, many, sizes);
        const maintained = await maintainIdle(context, many.admin, sizes.calls);
        return { ...created, ...maintained, ...(await locks(many)), ...(await sends(context, many, alone, sizes)) };
      }),
    );
  },
});

async function createQueues(
  { signal, note }: FigureContext,
  { admin }: QueueDatabase,
  { queues: count, window }: { queues: number; window: number },
) {
  const before = await catalog(admin);
  const [first, last] = [new Latencies(), new Latencies()];
  // the database has one queue already
  for (let n = 1; n < count; n++) {
    signal.throwIfAborted();
    if (n % 100 === 0) note(`${whole(n)} of ${whole(count)} queues`);
    const name = `queue ${n}`;
    const startMs = performance.now();
    await admin.query("select pgque.create_queue($1)", [name]);
    const tookMs = performance.now() - startMs;
    if (n <= window) first.record(tookMs);
    if (n >= count - window) last.record(tookMs);
    await admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared"}')`, [name, consumerName]);
  }
  const after = await catalog(admin);
  const [createFirst, createLast] = [p50(first), p50(last)];
  return {
    createFirst,
    createLast,
    createRatio: quotient(createLast, createFirst),
    relationsEach: quotient(after.relations - before.relations, count - 1),
    relations: after.relations,
    tables: after.tables,
    catalogEach: quotient(after.bytes - before.bytes, count - 1),
  };
}

async function catalog(admin: pg.Client): Promise<{ relations: number; tables: number; bytes: number }> {
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

async function maintainIdle({ signal, note }: FigureContext, admin: pg.Client, calls: number) {
  const time = async (statement: string): Promise<number | null> => {
    note(statement);
    const latencies = new Latencies();
    for (let n = 0; n <= calls + 5; n++) {
      signal.throwIfAborted();
      const startMs = performance.now();
      await admin.query(statement);
      // the first reads what has just been created, and the first five of a session are planned for their arguments
      if (n > 5) latencies.record(performance.now() - startMs);
    }
    return p50(latencies);
  };
  return {
    maintainOne: await time("select pgque.maintain('queue 1')"),
    maintain: await time("select pgque.maintain()"),
    maintainAll: await time("call pgque.maintain_all()"),
  };
}

async function locks({ connect }: QueueDatabase) {
  const client = await connect("locks");
  const held = async (call: () => Promise<unknown>): Promise<number | null> => {
    await call();
    await client.query("begin");
    await call();
    const { rows } = await client.query<{ held: number }>(
      // but for that of this statement
      "select count(*)::int as held from pg_locks where pid = pg_backend_pid() and relation is distinct from 'pg_locks'::regclass",
    );
    await client.query("rollback");
    return rows[0]?.held ?? null;
  };
  const { rows } = await client.query<{ room: number }>(
    `select current_setting('max_locks_per_transaction')::int
              * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) as room`,
  );
  const values = {
    locksReceive: await held(() => receive(client, 100)),
    locksSend: await held(() => send(client)),
    locksMaintainOne: await held(() => client.query("select pgque.maintain('queue 1')")),
    locksMaintain: await held(() => client.query("select pgque.maintain()")),
  };
  return { ...values, locksRoom: rows[0]?.room ?? null };
}

async function sends(
  { signal, note }: FigureContext,
  many: QueueDatabase,
  alone: QueueDatabase,
  { sessions, rounds, sends: perRound }: { sessions: number; rounds: number; sends: number },
) {
  const sides = [many, alone].map(({ connect }) => ({ connect, first: new Latencies(), later: new Latencies() }));
  const timed = async (client: pg.Client, latencies: Latencies): Promise<void> => {
    const startMs = performance.now();
    await send(client);
    latencies.record(performance.now() - startMs);
  };
  for (let n = 0; n < sessions; n++) {
    for (const { connect, first } of sides) await timed(await connect("send", { synchronousCommit: "off" }), first);
  }
  const senders = await Promise.all(
    sides.map(async ({ connect, later }) => ({ client: await connect("send", { synchronousCommit: "off" }), later })),
  );
  for (const { client } of senders) for (let n = 0; n < 100; n++) await send(client);
  for (let round = 0; round < rounds; round++) {
    note(`sends, round ${round + 1} of ${rounds}`);
    for (const { client, later } of senders) {
      for (let n = 0; n < perRound; n++) {
        signal.throwIfAborted();
        await timed(client, later);
      }
    }
  }
  const [ofMany, ofOne] = sides.map(({ first, later }) => ({ first: p50(first), later: p50(later) }));
  return {
    sendFirst: ofMany?.first ?? null,
    sendFirstAlone: ofOne?.first ?? null,
    send: ofMany?.later ?? null,
    sendAlone: ofOne?.later ?? null,
    sendRatio: quotient(ofMany?.later ?? null, ofOne?.later ?? null),
  };
}

const p50 = (latencies: Latencies): number | null => latencies.summary()?.p50 ?? null;
