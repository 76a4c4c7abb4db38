import type pg from "pg";
import { consumerName } from "../../../adapters/support/pgque-queue.ts";
import { bytes, whole } from "../../../report/format.ts";
import { defineMicrobenchmark } from "../microbenchmark.ts";
import { addQueue, withQueue } from "../queue.ts";

export const memory = defineMicrobenchmark({
  name: "memory",
  statement: "what one session keeps in memory for each queue that it has used",
  method: [
    "the session sends a message to every queue, receives it and acks it; then once more for each further segment of the rings, so that it has used every table",
    "bytes: the growth of total_bytes in pg_backend_memory_contexts; statements: its contexts named CachedPlanSource",
    "discard: what of it is left after `discard all`",
  ],
  sizes: { full: { queues: 60 }, quick: { queues: 10 } },
  async measure(context, { queues }) {
    // full with one batch of messages, and rotated whenever maintain is called
    const options = { rotation_min_interval: "0 s", rotation_bytes: 8192 };
    return withQueue(context, options, async ({ admin, connect }) => {
      const names = Array.from({ length: queues }, (_, n) => `queue ${n}`);
      for (const name of names) await addQueue(admin, name, options);
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
      const statements = (end.statements - start.statements) / queues;
      return { start, sent, received, acked, end, discarded, each, statements };
    });
  },
  values: {
    send: ["send, each queue", bytes, ({ each, sent, start }) => each(sent, start)],
    receive: ["receive, each queue", bytes, ({ each, received, sent }) => each(received, sent)],
    ack: ["ack, each queue", bytes, ({ each, acked, received }) => each(acked, received)],
    segments: ["the other segments, each queue", bytes, ({ each, end, acked }) => each(end, acked)],
    queue: ["in all, each queue", bytes, ({ each, end, start }) => each(end, start)],
    statements: ["statements kept, each queue", whole, ({ statements }) => statements],
    discarded: ["after discard all, each queue", bytes, ({ each, discarded, start }) => each(discarded, start)],
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
