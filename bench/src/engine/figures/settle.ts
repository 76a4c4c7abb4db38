import type pg from "pg";
import { Latencies } from "../../measure/histogram.ts";
import { quotient } from "../../measure/quotient.ts";
import { ms, ratio, whole } from "../../report/format.ts";
import { defineFigure, type FigureContext } from "./figure.ts";
import { queue, consumerName } from "../../adapters/support/pgque-queue.ts";
import { sendBatch, withQueue } from "./queue.ts";

export const settle = defineFigure({
  name: "settle",
  statement: "what settle costs that gives all messages of a batch back, by the size of the batch",
  method: [
    "one session, one batch at a time: received, then settled with every message in retry_ids and a delay of a minute; only the settle is timed",
    "the median of some rounds, small and large batches in turn; the ratio is that of the times per message, 1 when a settle is linear",
  ],
  sizes: { full: { few: 1000, many: 100_000, rounds: 3 }, quick: { few: 1000, many: 20_000, rounds: 2 } },
  values: {
    few: { label: "settle of the small batch", format: ms },
    many: { label: "settle of the large batch", format: ms },
    times: { label: "messages, large / small", format: whole },
    ratio: { label: "time per message, large / small", format: ratio },
  },
  async measure(context, { few, many, rounds }) {
    return withQueue(context, { rotation_min_interval: "1 hour" }, async ({ connect }) => {
      const client = await connect("consumer");
      const took = { few: new Latencies(), many: new Latencies() };
      for (let round = 0; round < rounds; round++) {
        context.note(`round ${round + 1} of ${rounds}`);
        took.few.record(await settleAll(context, client, few));
        took.many.record(await settleAll(context, client, many));
      }
      const [ofFew, ofMany] = [took.few.summary()?.p50 ?? null, took.many.summary()?.p50 ?? null];
      const times = many / few;
      return { few: ofFew, many: ofMany, times, ratio: quotient(ofMany, ofFew === null ? null : ofFew * times) };
    });
  },
});

/** Milliseconds of a settle that gives so many messages back. */
async function settleAll({ signal }: FigureContext, client: pg.Client, messages: number): Promise<number> {
  signal.throwIfAborted();
  await sendBatch(client, messages);
  const { rows } = await client.query<{ batch: string; ids: string[] }>(
    "select min(batch_id) as batch, array_agg(message_id) as ids from pgque.receive_messages($1, $2, max_messages => 100000, lease => '1 h')",
    [queue, consumerName],
  );
  const [held] = rows;
  if (held?.ids.length !== messages) throw new Error(`expected to receive ${messages} messages`);
  const startMs = performance.now();
  await client.query(
    "select pgque.settle($1, retry_ids => $2, retry_after => array_fill('1 min'::interval, array[$3::int]))",
    [held.batch, held.ids, messages],
  );
  return performance.now() - startMs;
}
