import type { PgqueError } from "../errors/errors.ts";
import type { ReceivedRow } from "../queries/receive-messages.ts";
import { type Decoded, decodePayload } from "../payload/payload.ts";
import type { Queue } from "../queue/define-queue.ts";

/** Further data of a message, beside its payload: trace ids, tenants. A JSON object. */
export type Headers = Record<string, unknown>;

/** One received message. */
export interface Message<Payload = unknown, Type extends string = string> {
  /** A decimal string such as `"42"`, as `pg` gives them. Stays the same through all attempts. */
  readonly id: string;
  /** The batch that it came in: a decimal string. */
  readonly batchId: string;
  /** 1 the first time it is delivered. */
  readonly attempt: number;
  /** As given to `send`. Default: `default`. */
  readonly type: Type;
  /** The output of the queue's payload schema. */
  readonly payload: Payload;
  /** As given to `send`; `{}` when none were. */
  readonly headers: Headers;
  /** When it was first sent. */
  readonly createdAt: Date;
  /** On a queue with `priorities`; null on others. */
  readonly priority: number | null;
  /** As given to `send`; null when none was. */
  readonly key: string | null;
  /** How many processes have ended with it in hand, one of whose messages may be to blame, since its handler last came to an end. Usually 0. */
  readonly crashes: number;
}

/** A message whose payload does not fit the schema of its queue. It is in the batch, under lease, like the others. */
export interface InvalidMessage {
  /** Its payload is the JSON as it was found, or the text when that is not JSON. */
  readonly message: Message;
  /** PAYLOAD_INVALID or PAYLOAD_NOT_JSON. */
  readonly error: PgqueError;
}

/**
 * The rows of one receive, in order, with their payloads read: by schemas that have something to wait for side by side, each for so long at most.
 * Never rejects.
 */
export async function readMessages(
  queue: Queue,
  rows: readonly ReceivedRow[],
  limitMs: number,
): Promise<{ messages: Message[]; payloadBytes: number[]; invalid: InvalidMessage[] }> {
  const messages: Message[] = [];
  const payloadBytes: number[] = [];
  const invalid: InvalidMessage[] = [];
  const read = rows.map(({ type, payload }) => decodePayload(queue, type, payload, limitMs));
  // a promise for every message of a large batch costs more than to read it
  const decoded = read.some((one) => one instanceof Promise)
    ? await Promise.all(read.map(async (one) => one))
    : (read as Decoded[]);
  for (const [i, one] of decoded.entries()) {
    const { id, batchId, attempt, type, payload, headers, createdAt, priority, key, crashes } = rows[i] as ReceivedRow;
    const rest = { id, batchId, attempt, type, headers, createdAt, priority, key, crashes };
    if ("error" in one) {
      invalid.push({ message: { ...rest, payload: one.unreadable }, error: one.error });
    } else {
      messages.push({ ...rest, payload: one.payload });
      payloadBytes.push(Buffer.byteLength(payload));
    }
  }
  return { messages, payloadBytes, invalid };
}
