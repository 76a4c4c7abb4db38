import { randomUUID } from "node:crypto";
import type { Connection } from "../connection/connection.ts";
import { receiveMessages } from "../queries/receive-messages.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import type { MessageOf, MessageTypes } from "../types.ts";
import { callProblems, completed, refuse } from "../options/option.ts";
import { Batch } from "./batch.ts";
import { readMessages } from "./read-messages.ts";
import { receiveOptions, type ReceiveOptions } from "./receive-options.ts";
import { defaultRetryAfterMs } from "../settle/settle-options.ts";
import { Settler } from "../settle/settler.ts";

/** The consumer that is meant when none is named. */
export const defaultConsumer = receiveOptions.consumer.default;

/** How the payloads of a receive are read. */
export interface Reading {
  /** How long each schema may take, in milliseconds. Default: the client's `callTimeoutMs`. */
  checkMs?: number | undefined;
  /** Called when the batch is leased and its payloads are still to be checked. */
  onLeased?: (() => void) | undefined;
  /** A batch that is acked in the same call and transaction. */
  finished?: string | undefined;
}

/** The next messages, as a batch that settles through `settler`, or through one that knows its consumer, for telemetry. */
export async function receive<Types extends MessageTypes>(
  db: Connection,
  settler: Settler,
  ref: QueueRef<Types>,
  options: ReceiveOptions = {},
  { checkMs = db.callTimeoutMs, onLeased, finished }: Reading = {},
): Promise<Batch<MessageOf<Types>>> {
  const queue = queueOf("receive", ref);
  refuse("receive", callProblems(options, receiveOptions));
  const { consumer, max, maxBytes, leaseMs, reportsStarted, signal } = completed(options, receiveOptions);
  const worker = options.worker ?? `batch-${randomUUID()}`;
  const request = { queue: queue.name, consumer, worker, max, maxBytes, leaseMs, reportsStarted, finished };
  const { telemetry } = db;
  const rows =
    telemetry === undefined
      ? await receiveMessages(db, request, signal)
      : await telemetry.receive(request, () => receiveMessages(db, request, signal));
  const [first] = rows;
  if (first !== undefined) onLeased?.();
  const { messages, payloadBytes, invalid } = await readMessages(queue, rows, checkMs);
  const content = {
    id: first?.batchId ?? null,
    // valid messages are what the schemas of the queue say, which is what Types stands for
    messages: messages as unknown as MessageOf<Types>[],
    payloadBytes,
    invalid,
    leasedUntil: first?.leasedUntil ?? null,
    retryAfterMs: queue.defaults.retryAfterMs ?? defaultRetryAfterMs,
  };
  return new Batch<MessageOf<Types>>(content, telemetry === undefined ? settler : new Settler(db, request));
}
