import type { Batch, Pgque, Queue } from "@pgque/client";
import { answered } from "../connection/answer.ts";
import type { Executor } from "../execute/executor.ts";
import { Lease } from "../lease/lease.ts";
import type { ResolvedOptions } from "../resolve-options.ts";

/** What a receive brought. */
export interface Received {
  batch: Batch;
  /** How many messages that are, invalid ones included. */
  count: number;
  /** As many, or as much, as was asked for: there may be more. */
  isFull: boolean;
  lease: Lease;
}

/**
 * Receives what the executor has room for, `most` messages at most. `worker`: the name that the lease is held under, which is
 * kept from the moment on in which there is one.
 */
export async function receiveAhead(
  pgque: Pgque,
  queue: Queue,
  options: ResolvedOptions,
  executor: Executor,
  worker: string,
  onLeased: (lease: Lease) => void,
  most = Number.POSITIVE_INFINITY,
): Promise<Received> {
  const { consumer, leaseMs, batchSize, prefetch, prefetchBytes, queryTimeoutMs } = options;
  const max = Math.max(1, Math.min(batchSize, prefetch - executor.held, most));
  const maxBytes = Math.max(1, prefetchBytes - executor.heldBytes);
  const lease = new Lease(performance.now() + leaseMs);
  const batch = await answered(queryTimeoutMs, (signal) =>
    pgque.runtime.receive(
      queue,
      { consumer, max, maxBytes, worker, leaseMs, reportsStarted: true, signal },
      { onLeased: () => onLeased(lease), checkMs: queryTimeoutMs },
    ),
  );
  const count = batch.messages.length + batch.invalid.length;
  const bytes = batch.payloadBytes.reduce((sum, of) => sum + of, 0);
  return { batch, count, isFull: count >= max || bytes >= maxBytes, lease };
}
