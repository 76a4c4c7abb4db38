import type pg from "pg";
import { consumerName, queue } from "../../../adapters/support/pgque-queue.ts";
import { ratio, whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark, type MicrobenchmarkContext } from "../microbenchmark.ts";
import { finish, payload, segments, sendBatch, withQueue } from "../queue.ts";

const page = 100;
const chunk = 10_000;
const mebibyte = 1024 * 1024;

export const backlog = defineMicrobenchmark({
  name: "backlog",
  statement: `shared buffers that a receive of ${page} messages touches at a backlog of ${page}, and at a large one`,
  method: [
    "EXPLAIN (ANALYZE, BUFFERS) of receive_messages, planning of its statements included in the first calls, which do not count",
    "the least of several receives each: catalog caches that are rebuilt add buffers now and then",
    `the backlog is sent ${whole(chunk)} messages at a time, once into one segment, and once with maintain() after each, which moves on to a new segment ` +
      "when one is full: then a receive looks into each of them. Segments are as many as they would be at the default size of 64 MiB",
  ],
  sizes: {
    full: { messages: 10_000_000, receives: 8, segmentMiB: 64 },
    quick: { messages: 500_000, receives: 5, segmentMiB: 3 },
  },
  async measure(context, { messages, receives, segmentMiB }) {
    const never = { rotation_min_interval: "1 year" };
    const small = await withQueue(context, never, async ({ connect }) => {
      const client = await connect("consumer");
      return leastBuffers(client, receives, () => sendBatch(client, page));
    });
    const large = await withQueue(context, never, async ({ connect }) => {
      const client = await connect("consumer");
      await fill(context, client, messages);
      return leastBuffers(client, receives);
    });
    const often = { rotation_min_interval: "0 s", rotation_bytes: segmentMiB * mebibyte };
    const many = await withQueue(context, often, async (database) => {
      const client = await database.connect("consumer");
      await fill(context, client, messages, () => database.admin.query("select pgque.maintain()"));
      return { segments: await segments(database), buffers: await leastBuffers(client, receives) };
    });
    return { small, large, many, messages };
  },
  values: {
    small: [`backlog of ${page}, buffers`, whole, ({ small }) => small],
    large: ["large backlog in one segment, buffers", whole, ({ large }) => large],
    ratio: ["large in one segment / small", ratio, ({ large, small }) => large / small, atMost(1.2, ratio)],
    rotated: ["large backlog in many segments, buffers", whole, ({ many }) => many.buffers],
    segments: ["segments, of many", whole, ({ many }) => many.segments],
    rotatedRatio: [
      "large in many segments / small",
      ratio,
      ({ many, small }) => many.buffers / small,
      atMost(1.2, ratio),
    ],
    messages: ["messages in the large backlog", whole, ({ messages }) => messages],
  },
});

async function fill(
  { signal, note }: MicrobenchmarkContext,
  client: pg.Client,
  messages: number,
  afterEach: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  // Made by the server: ten million payloads over the wire would take most of the time.
  const text =
    "select count(pgque.send_batch($1, array(select $2::text from generate_series(1, least($3::int, $4::int)))))";
  for (let sent = 0; sent < messages; sent += chunk) {
    signal.throwIfAborted();
    note(`${whole(sent)} messages sent`);
    await client.query({ name: "fill", text, values: [queue, payload(), chunk, messages - sent] });
    await afterEach();
  }
}

async function leastBuffers(
  client: pg.Client,
  receives: number,
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  // The first calls of a session compile the functions and plan.
  for (let n = 0; n < 3; n++) {
    await before();
    await finish(client, page);
  }
  const buffers: number[] = [];
  for (let n = 0; n < receives; n++) {
    await before();
    buffers.push(await buffersOfReceive(client));
  }
  return Math.min(...buffers);
}

interface Explained {
  "QUERY PLAN": [{ Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number; "Actual Rows": number } }];
}

async function buffersOfReceive(client: pg.Client): Promise<number> {
  const receive = `pgque.receive_messages('${queue}', '${consumerName}', max_messages => ${page})`;
  const { rows } = await client.query<Explained>(`explain (analyze, buffers, format json) select * from ${receive}`);
  const plan = rows[0]?.["QUERY PLAN"][0].Plan;
  if (plan?.["Actual Rows"] !== page) {
    throw new Error(`expected to receive ${page} messages, got: ${plan?.["Actual Rows"]}`);
  }
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}
