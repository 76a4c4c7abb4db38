import type pg from "pg";
import { bytes, whole } from "../../report/format.ts";
import { consumerName } from "../../adapters/support/pgque-queue.ts";
import { defineFigure } from "./figure.ts";
import { withQueue } from "./queue.ts";

export const memory = defineFigure({
  name: "memory",
  statement: "what one session keeps in memory for each queue that it has used",
  method: [
    "the session sends a message to every queue, receives it and acks it; then once more for each further segment of the rings, so that it has used every table",
    "bytes: the growth of total_bytes in pg_backend_memory_contexts; statements: its contexts named CachedPlanSource",
    "discard: what of it is left after `discard all`",
  ],
  sizes: { full: { queues: 60 }, quick: { queues: 10 } },
  values: {
    send: { label: "send, each queue", format: bytes },
    receive: { label: "receive, each queue", format: bytes },
    ack: { label: "ack, each queue", format: bytes },
    segments: { label: "the other segments, each queue", format: bytes },
    queue: { label: "in all, each queue", format: bytes },
    statements: { label: "statements kept, each queue", format: whole },
    discarded: { label: "after discard all, each queue", format: bytes },
  },
  async measure(context, { queues }) {
    // full with one batch of messages, and rotated whenever maintain is called
    const options = { rotation_min_interval: "0 s", rotation_bytes: 8192 };
    return withQueue(context, options, async ({ admin, connect }) => {
      const names = Array.from({ length: queues }, (_, n) => `queue ${n}`);
      for (const name of names) {
        await admin.query("select pgque.create_queue($1, $2)", [name, options]);
        await admin.query(`select pgque.subscribe($1, $2, '{"mode": "shared"}')`, [name, consumerName]);
      }
      const session = await connect("session");
      const start = await contexts(session);
      const [sent, received, acked] = await useAll(session, names);
      for (let segment = 1; segment < 3; segment++) {
        context.note(`segment ${segment}`);
        for (const name of names) {
          context.signal.throwIfAborted();
          await rotate(admin, name);
        }
        await useAll(session, names);
      }
      const end = await contexts(session);
      await session.query("discard all");
      const discarded = await contexts(session);
      const each = (to: Contexts, from: Contexts): number => Math.round((to.bytes - from.bytes) / queues);
      return {
        send: each(sent, start),
        receive: each(received, sent),
        ack: each(acked, received),
        segments: each(end, acked),
        queue: each(end, start),
        statements: (end.statements - start.statements) / queues,
        discarded: each(discarded, start),
      };
    });
  },
});

interface Contexts {
  bytes: number;
  statements: number;
}

async function contexts(session: pg.Client): Promise<Contexts> {
  const { rows } = await session.query<Contexts>(
    `select sum(total_bytes)::float8 as bytes, (count(*) filter (where name = 'CachedPlanSource'))::int as statements
       from pg_backend_memory_contexts`,
  );
  return rows[0] ?? { bytes: 0, statements: 0 };
}

/** What the session holds after a send to each queue, after a receive from each, and after an ack. */
async function useAll(session: pg.Client, names: string[]): Promise<[Contexts, Contexts, Contexts]> {
  for (const name of names) await session.query("select pgque.send($1, 'default', 'x'::text)", [name]);
  const sent = await contexts(session);
  const batches: string[] = [];
  for (const name of names) {
    const { rows } = await session.query<{ batch: string }>(
      "select batch_id::text as batch from pgque.receive_messages($1, $2, null, 1000)",
      [name, consumerName],
    );
    if (rows[0] === undefined) throw new Error(`nothing was received from ${name}`);
    batches.push(rows[0].batch);
  }
  const received = await contexts(session);
  for (const batch of batches) await session.query("select pgque.ack($1::bigint)", [batch]);
  return [sent, received, await contexts(session)];
}

async function rotate(admin: pg.Client, name: string): Promise<void> {
  await admin.query("select pgque.send_batch($1, array_fill(repeat('x', 100), array[100]))", [name]);
  for (let call = 0; call < 2; call++) await admin.query("select pgque.maintain_queue($1)", [name]);
}
