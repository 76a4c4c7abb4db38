import { nextTransactionId } from "../../../horizons/oldest-holder.ts";
import { walPosition } from "../../../measure/relations.ts";
import { whole } from "../../../report/format.ts";
import { atMost } from "../../../runner/target.ts";
import { defineMicrobenchmark } from "../microbenchmark.ts";
import { finish, quietly, receive, sendBatch, withQueue } from "../queue.ts";

const bytes = (count: number): string => `${whole(count)} B`;

export const idle = defineMicrobenchmark({
  name: "idle",
  statement: "transaction ids and WAL that polls of a consumer use when there is nothing for it",
  method: [
    "after messages that were received and acked, and after 50 polls that do not count: the first ones of a session prune catalog pages",
    "the least of some rounds: what else writes on the server counts, and so does a poll that takes longer than 10 ms, which stores its cursor; " +
      "the cursors stored in all rounds together are given beside it",
    "autovacuum off meanwhile on an embedded server; transaction ids are read without using one up",
  ],
  sizes: { full: { polls: 2000, rounds: 3 }, quick: { polls: 2000, rounds: 2 } },
  async measure(context, { polls, rounds }) {
    return withQueue(context, { rotation_min_interval: "1 hour" }, async ({ admin, connect }) => {
      const client = await connect("consumer");
      const poll = async (times: number): Promise<void> => {
        for (let n = 0; n < times; n++) {
          context.signal.throwIfAborted();
          if ((await receive(client, 100)).messages > 0) throw new Error("a poll found messages, expected none");
        }
      };
      const cursors = async (): Promise<number> => (await admin.query("select from pgque.batch_1")).rowCount ?? 0;
      await sendBatch(client, 10);
      await finish(client, 100);
      const used: { transactionIds: number[]; walBytes: number[] } = { transactionIds: [], walBytes: [] };
      const stored = await quietly(context, admin, {}, async () => {
        await poll(50);
        const before = await cursors();
        for (let n = 0; n < rounds; n++) {
          const [xid, wal] = [await nextTransactionId(admin), await walPosition(admin)];
          await poll(polls);
          used.transactionIds.push((await nextTransactionId(admin)) - xid);
          used.walBytes.push((await walPosition(admin)) - wal);
        }
        return (await cursors()) - before;
      });
      return { ...used, stored };
    });
  },
  values: {
    transactionIds: ["transaction ids", whole, (used) => Math.min(...used.transactionIds), atMost(0, whole)],
    walBytes: ["WAL", bytes, (used) => Math.min(...used.walBytes), atMost(0, bytes)],
    cursors: ["cursors stored, all rounds", whole, ({ stored }) => stored],
  },
});
