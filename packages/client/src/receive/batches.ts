import { setTimeout as sleep } from "node:timers/promises";
import { integer } from "../options/checks.ts";
import { callProblems, completed, refuse, type OptionTable, type OptionsOf } from "../options/option.ts";
import { finish, type Batch } from "./batch.ts";
import { receiveOptions, type ReceiveOptions } from "./receive-options.ts";

/** The options that `consume` has beside those of `receive`. */
export const consumeOptions = {
  /** Shortest wait after a receive that found nothing, in milliseconds. 1 to 60000. Default: 25. */
  pollMinMs: { check: integer(1, 60_000), default: 25, help: "shortest wait after a receive that found nothing" },
  /** Longest such wait: it doubles while there is nothing, and the next message brings it back. In milliseconds, 1 to 600000. Default: 1000. */
  pollMaxMs: { check: integer(1, 600_000), default: 1000, help: "longest wait after a receive that found nothing" },
} satisfies OptionTable;

/** For whom, how many, for how long, and how often to look. */
export interface ConsumeOptions extends OptionsOf<typeof consumeOptions>, ReceiveOptions {}

/** How the next batch is received. */
export interface Next<Received> {
  /** Whether a batch can be acked with the receive of the next. */
  acks: boolean;
  /** Acks the batch of that id, if one is given, and receives. */
  receive(finished: string | undefined): Promise<Received>;
}

/** Batch after batch until nothing is left: one that was gone through is acked with the next receive, one that was broken off is given back. */
export async function* batches<Received extends Batch>(
  next: Next<Received>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Received, void> {
  let finished: string | undefined;
  for (;;) {
    const batch = await next.receive(finished);
    if (batch.id === null) return;
    let isDone = false;
    try {
      yield batch;
      isDone = true;
      finished = await finish(batch, next.acks && !signal?.aborted);
    } finally {
      if (!isDone) await batch.release();
    }
  }
}

/** The same, and waits when nothing is left, until the signal is aborted. */
export async function* consume<Received extends Batch>(
  next: Next<Received>,
  options: ConsumeOptions,
): AsyncGenerator<Received, void> {
  refuse("consume", callProblems(options, { ...receiveOptions, ...consumeOptions }));
  const { signal, pollMinMs, pollMaxMs } = completed(options, consumeOptions);
  let waitMs = pollMinMs;
  try {
    for (;;) {
      for await (const batch of batches(next, signal)) {
        waitMs = pollMinMs;
        yield batch;
      }
      await sleep(waitMs, undefined, { signal });
      waitMs = Math.min(2 * waitMs, pollMaxMs);
    }
  } catch (error) {
    if (!isOf(signal, error)) throw error;
  }
}

/** Whether an error is only that of the signal. */
function isOf(signal: AbortSignal | undefined, error: unknown): boolean {
  return signal?.aborted === true && (error === signal.reason || (error as Partial<Error>).name === "AbortError");
}
