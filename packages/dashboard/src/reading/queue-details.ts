import type { ConsumerSettings, ConsumerStatus, Pgque, QueueSettings, QueueStatus, SegmentStatus } from "@pgque/client";

/** A queue, its consumers, and what keeps its space. */
export interface QueueDetails {
  /** When it was read, ISO 8601. */
  at: string;
  queue: QueueStatus;
  settings: QueueSettings;
  consumers: (ConsumerStatus &
    Pick<ConsumerSettings, "mode" | "maxInFlight" | "maxInFlightPerKey" | "rateLimit" | "ratePeriodMs">)[];
  segments: SegmentStatus[];
}

const readTimeoutMs = 10_000;

/** @throws PgqueError QUEUE_NOT_FOUND */
export async function readQueue(pgque: Pgque, name: string): Promise<QueueDetails> {
  const signal = AbortSignal.timeout(readTimeoutMs);
  const at = new Date().toISOString();
  const [queue, settings, consumers, ways, segments] = await Promise.all([
    pgque.queues.status(name, { signal }),
    pgque.queues.settings(name, { signal }),
    pgque.consumers.list(name, { signal }),
    pgque.consumers.settings(name, { signal }),
    pgque.queues.segments(name, { signal }),
  ]);
  const described = consumers.flatMap((consumer) => {
    const way = ways.find((one) => one.name === consumer.name);
    if (way === undefined) return []; // it was unsubscribed between the two
    const { mode, maxInFlight, maxInFlightPerKey, rateLimit, ratePeriodMs } = way;
    return [{ ...consumer, mode, maxInFlight, maxInFlightPerKey, rateLimit, ratePeriodMs }];
  });
  return { at, queue, settings, consumers: described, segments };
}
