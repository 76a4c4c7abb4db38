import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { walBytesOf } from "../../../measure/relations.ts";
import { whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark, type MicrobenchmarkContext } from "../microbenchmark.ts";
import { finish, payloadBytes, quietly, send, sendBatch, withQueue, type QueueDatabase } from "../queue.ts";

const bytes = (count: number): string => `${whole(count)} B`;
const page = 100;

export const wal = defineMicrobenchmark({
  name: "wal",
  statement: `WAL per message of ${payloadBytes} bytes, from send to ack, received and acked ${page} at a time`,
  method: [
    `the difference of pg_current_wal_insert_lsn() around the calls, with nothing else running: ${page} messages sent, received, acked, and again`,
    "without full-page images: full_page_writes is off meanwhile, which the microbenchmark sets on an embedded server alone",
    "with: right after a checkpoint, so every page that is touched again pays its image once within the messages counted",
    "rotation is not part of it; autovacuum is off meanwhile on an embedded server, and what the server writes when idle is given, not subtracted",
  ],
  sizes: { full: { messages: 20_000, idleSeconds: 2 }, quick: { messages: 4000, idleSeconds: 1 } },
  async measure(context, { messages, idleSeconds }) {
    return withQueue(context, { rotation_min_interval: "1 hour" }, async (database) => {
      const { admin } = database;
      const perMessage = await measureWith(context, database, messages);
      const without = context.server.embedded
        ? await quietly(context, admin, { full_page_writes: "off" }, () => perMessage())
        : null;
      return quietly(context, admin, {}, async () => {
        const idle = await walBytesOf(admin, () => sleep(idleSeconds * 1000, undefined, { signal: context.signal }));
        return { without, withImages: await perMessage(), idle: idle / idleSeconds };
      });
    });
  },
  values: {
    batched: ["10 a send, without full-page images", bytes, ({ without }) => without?.batched, atMost(350, bytes)],
    batchedWith: ["10 a send, with", bytes, ({ withImages }) => withImages.batched],
    single: ["1 a send, without full-page images", bytes, ({ without }) => without?.single],
    singleWith: ["1 a send, with", bytes, ({ withImages }) => withImages.single],
    idle: ["WAL of the idle server per second", bytes, ({ idle }) => idle],
  },
});

/** Bytes per message of both ways to send, each right after a checkpoint. */
async function measureWith(
  { signal, note }: MicrobenchmarkContext,
  { admin, connect }: QueueDatabase,
  messages: number,
): Promise<() => Promise<{ batched: number; single: number }>> {
  const client = await connect("client");
  const ways = { batched: () => sendTens(client), single: () => sendOnes(client) };
  const pages = async (send: () => Promise<void>, count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      signal.throwIfAborted();
      await send();
      const messages = await finish(client, page);
      if (messages !== page) throw new Error(`expected to receive ${page} messages, got: ${messages}`);
    }
  };
  const perMessage = async (send: () => Promise<void>): Promise<number> => {
    await admin.query("checkpoint");
    return (await walBytesOf(admin, () => pages(send, messages / page))) / messages;
  };
  // Plans, catalogs and the first pages of tables.
  for (const send of Object.values(ways)) await pages(send, 2);
  return async () => {
    note(`${whole(messages)} messages, twice`);
    return { batched: await perMessage(ways.batched), single: await perMessage(ways.single) };
  };
}

async function sendTens(client: pg.Client): Promise<void> {
  for (let n = 0; n < page; n += 10) await sendBatch(client, 10);
}

async function sendOnes(client: pg.Client): Promise<void> {
  for (let n = 0; n < page; n++) await send(client);
}
