import type { DeadLetterFilter, Pgque } from "@pgque/client";
import { type JsonFlags, printResult } from "../output/print.ts";
import { progressBar } from "../output/progress.ts";
import { counted } from "../output/text.ts";
import { Stopped, stopRequested } from "../signals.ts";

/** Which dead letters are meant, and what to do to them. */
export interface Steps {
  queue: string;
  filter: DeadLetterFilter & { ids?: bigint[] };
  /** At most so many in all. */
  limit: number;
  /** So many in one transaction. */
  step: number;
  /** What has become of them then: "sent again". */
  done: string;
  /** Returns how many; fewer than `max`: there are no more. */
  take: (options: DeadLetterFilter & { ids?: bigint[]; max: number; signal: AbortSignal }) => Promise<number>;
  /** The same as an object, for programs. */
  result: (count: number) => object;
}

/**
 * Does it in steps, the oldest first, each a transaction of its own, until none is left. A signal takes back the step under way.
 *
 * @returns how many
 * @throws Stopped, or Error, which say how many it were before
 */
export async function inBatches(pgque: Pgque, steps: Steps, flags: JsonFlags): Promise<number> {
  const { queue, limit, step, done: what, take, result } = steps;
  const { deadLetters } = await pgque.queues.status(queue);
  // without an end, what dies while it runs would be taken as well, and what dies again again and again
  const filter = { ...steps.filter, diedBefore: steps.filter.diedBefore ?? (await databaseTime(pgque)) };
  const stop = new AbortController();
  void stopRequested().then((signal) => stop.abort(new Stopped(`stopped by ${signal}`, signal)));
  const bar = await progressBar(Math.min(limit, filter.ids?.length ?? deadLetters, deadLetters), "dead letters");
  let done = 0;
  try {
    for (;;) {
      const max = Math.min(step, limit - done);
      const count = max > 0 ? await take({ ...filter, max, signal: stop.signal }) : 0;
      done += count;
      bar.update(done);
      if (count < max || max <= 0) return done;
      stop.signal.throwIfAborted();
    }
  } catch (error) {
    bar.stop();
    const isStopped = error instanceof Stopped;
    if (done === 0 && !isStopped) throw error;
    if (flags.json) await printResult(flags, result(done), "");
    const isUnknown = (error as { code?: unknown }).code === "CONNECTION_LOST";
    const others = isUnknown ? `whether the next ${step} were is not known` : "the others are as they were";
    const told = `${counted(done, "dead letter")} ${done === 1 ? "was" : "were"} ${what}, ${others}. The same command goes on`;
    throw isStopped ? new Stopped(`${error.message}: ${told}`, error.signal) : new Error(told, { cause: error });
  } finally {
    bar.stop();
  }
}

/** The next millisecond by the clock that says when a message died, which need not be that of this machine. */
async function databaseTime({ pool }: Pgque): Promise<Date> {
  const { rows } = await pool.query<{ ms: string }>(
    "select (ceil(extract(epoch from clock_timestamp()) * 1000))::text as ms",
  );
  return new Date(Number(rows[0]?.ms));
}
