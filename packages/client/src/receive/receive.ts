import { randomUUID } from "node:crypto";
import type { Connection } from "../connection/connection.ts";
import { receiveMessages, type ReceivedRow } from "../queries/receive-messages.ts";
import { queueOf, type Queue, type QueueRef } from "../queue/define-queue.ts";
import type { Message, MessageOf, MessageTypes } from "../types.ts";
import { callProblems, completed, refuse } from "../options/option.ts";
import { Batch, type BatchContent } from "./batch.ts";
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
  return receiveRead(db, settler, ref, options, finished, async (queue, rows) => {
    if (rows.length > 0) onLeased?.();
    const { messages, payloadBytes, invalid } = await readMessages(queue, rows, checkMs);
    // valid messages are what the schemas of the queue say, which is what Types stands for
    return { messages: messages as unknown as MessageOf<Types>[], payloadBytes, invalid };
  });
}

/** The same with payloads as the texts that are stored, whatever the schemas of the queue say. */
export async function receiveTexts(
  db: Connection,
  settler: Settler,
  ref: QueueRef,
  options: ReceiveOptions,
  finished: string | undefined,
): Promise<Batch<Message<string>>> {
  return receiveRead(db, settler, ref, options, finished, (_queue, rows) => ({
    messages: rows,
    payloadBytes: rows.map(({ payload }) => Buffer.byteLength(payload)),
    invalid: [],
  }));
}

type ReadBatch<Received> = Pick<BatchContent<Received>, "messages" | "payloadBytes" | "invalid">;

async function receiveRead<Received extends Message>(
  db: Connection,
  settler: Settler,
  ref: QueueRef,
  options: ReceiveOptions,
  finished: string | undefined,
  read: (queue: Queue, rows: readonly ReceivedRow[]) => ReadBatch<Received> | Promise<ReadBatch<Received>>,
): Promise<Batch<Received>> {
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
  const content = {
    ...(await read(queue, rows)),
    id: first?.batchId ?? null,
    leasedUntil: first?.leasedUntil ?? null,
    retryAfterMs: queue.defaults.retryAfterMs ?? defaultRetryAfterMs,
  };
  return new Batch<Received>(content, telemetry === undefined ? settler : new Settler(db, request));
}
