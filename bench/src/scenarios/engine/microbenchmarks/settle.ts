import type pg from "pg";
import { consumerName, queue } from "../../../adapters/support/pgque-queue.ts";
import { Latencies } from "../../../measure/histogram.ts";
import { quotient } from "../../../measure/statistics.ts";
import { ms, ratio, whole } from "../../../report/format.ts";
import { defineMicrobenchmark, medianRatio, timed, type MicrobenchmarkContext } from "../microbenchmark.ts";
import { sendBatch, withQueue } from "../queue.ts";

export const settle = defineMicrobenchmark({
  name: "settle",
  statement: "what settle costs that gives all messages of a batch back, by the size of the batch",
  method: [
    "one session, one batch at a time: received, then settled with every message in retry_ids and a delay of a minute; only the settle is timed",
    "the median of some rounds, small and large batches in turn; the ratio is that of the times per message, 1 when a settle is linear",
  ],
  sizes: { full: { few: 1000, many: 100_000, rounds: 3 }, quick: { few: 1000, many: 20_000, rounds: 2 } },
  async measure(context, { few, many, rounds }) {
    return withQueue(context, { rotation_min_interval: "1 hour" }, async ({ connect }) => {
      const client = await connect("consumer");
      const took = { few: new Latencies(), many: new Latencies() };
      for (let round = 0; round < rounds; round++) {
        context.note(`round ${round + 1} of ${rounds}`);
        await settleAll(context, client, few, took.few);
        await settleAll(context, client, many, took.many);
      }
      return { few: took.few.summary(), many: took.many.summary(), times: many / few };
    });
  },
  values: {
    few: ["settle of the small batch", ms, ({ few }) => few?.p50],
    many: ["settle of the large batch", ms, ({ many }) => many?.p50],
    times: ["messages, large / small", whole, ({ times }) => times],
    ratio: ["time per message, large / small", ratio, (took) => quotient(medianRatio(took.many, took.few), took.times)],
  },
});

/** Only the settle is timed, which gives so many messages back. */
async function settleAll(
  { signal }: MicrobenchmarkContext,
  client: pg.Client,
  messages: number,
  times: Latencies,
): Promise<void> {
  signal.throwIfAborted();
  await sendBatch(client, messages);
  const { rows } = await client.query<{ batch: string; ids: string[] }>(
    "select min(batch_id) as batch, array_agg(message_id) as ids from pgque.receive_messages($1, $2, max_messages => 100000, lease => '1 h')",
    [queue, consumerName],
  );
  const [held] = rows;
  if (held?.ids.length !== messages) throw new Error(`expected to receive ${messages} messages`);
  await timed(times, () =>
    client.query(
      "select pgque.settle($1, retry_ids => $2, retry_after => array_fill('1 min'::interval, array[$3::int]))",
      [held.batch, held.ids, messages],
    ),
  );
}
