import type { Pool, PoolClient } from "pg";
import type { Statement } from "./queryable.ts";
import { field } from "../options/field.ts";
import { Borrowed, NotConnected } from "./borrowed.ts";

/** How long the server has to answer a cancelled statement. After that the connection is given up. */
const cancelMs = 1000;

/** A cancellation that arrives before its statement cancels nothing, so it is sent again. */
const cancelAgainMs = 100;

export interface Result {
  rows: Record<string, unknown>[];
}

/** The signal was aborted, and the server has not said what became of the statement. Its cause is the signal's reason. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/**
 * Runs a statement on a pool until the signal is aborted: it is cancelled then, and the reason thrown, unless it was done already.
 *
 * @param ask how it is run
 * @throws NotConnected when nothing was sent; Unanswered when it is not known whether it was cancelled
 */
export async function pooledQuery(
  pool: Pool,
  statement: Statement,
  signal: AbortSignal,
  ask: (client: PoolClient) => Promise<Result> = (client) => client.query(statement),
): Promise<Result> {
  const borrowed = await Borrowed.take(pool, signal);
  // since it was there, and before anybody listened
  const gone: unknown = signal.aborted ? signal.reason : borrowed.error;
  if (gone !== undefined) {
    borrowed.giveBack();
    throw new NotConnected("no connection", { cause: gone });
  }
  let again: NodeJS.Timeout | undefined;
  let given: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    borrowed.cancel();
    again = setInterval(() => borrowed.cancel(), cancelAgainMs);
    given = setTimeout(() => borrowed.destroy(signal.reason as Error), cancelMs);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await ask(borrowed.client);
  } catch (error) {
    borrowed.spoil(error as Error);
    if (!signal.aborted) throw error;
    // it is the server that knows; where it ends the session, the statement may have committed before
    const isAnswer = field(error, "severity") !== undefined && !String(field(error, "code")).startsWith("57P");
    if (isAnswer) throw signal.reason;
    throw new Unanswered("not answered", { cause: signal.reason });
  } finally {
    signal.removeEventListener("abort", onAbort);
    clearInterval(again);
    clearTimeout(given);
    // a cancellation that is still on its way must not hit the next statement
    if (signal.aborted) borrowed.spoil(signal.reason as Error);
    borrowed.giveBack();
  }
}

/** Waits for something that cannot be stopped, until the signal is aborted: then the reason is thrown. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
