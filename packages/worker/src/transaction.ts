import { type Pgque, isPgqueError, type Source } from "@pgque/client";
import type { PoolClient } from "pg";
import { within } from "./answer.ts";
import type { Outcome } from "./outcome.ts";

/**
 * Runs a handler in a transaction of its own. When its messages are done they are acked in it and it commits: what the handler wrote is there if
 * and only if they are. Otherwise it rolls back.
 *
 * @throws what the handler throws; PgqueError LEASE_LOST when the messages are somebody else's by now
 */
export async function inTransaction(
  pgque: Pgque,
  source: Source,
  acked: { batchId: bigint; messageIds: readonly bigint[] },
  answerTimeoutMs: number,
  handle: (tx: PoolClient) => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> {
  const client = await pgque.pool.connect();
  let broken = false;
  const onError = (): void => void (broken = true);
  client.on("error", onError);
  const answer = async (asked: Promise<unknown>): Promise<void> => {
    await within(answerTimeoutMs, asked).catch((error: unknown) => {
      // nothing else can be asked on a connection that answers no more
      broken ||= isPgqueError(error, "CONNECTION_LOST");
      throw error;
    });
  };
  try {
    await answer(client.query("begin"));
    const outcomes = await handle(client);
    if (outcomes.every(({ kind }) => kind === "done")) {
      await answer(pgque.on(client).runtime.settler(source).ackStrict(acked.batchId, acked.messageIds));
      await answer(client.query("commit"));
    } else {
      await answer(client.query("rollback"));
    }
    return outcomes;
  } catch (error) {
    if (!broken) await answer(client.query("rollback")).catch(() => (broken = true));
    throw error;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}
