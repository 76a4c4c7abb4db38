import type { ReceivedRow } from "../queries/receive-messages.ts";
import { type Decoded, decodePayload } from "../payload/payload.ts";
import type { Queue } from "../queue/define-queue.ts";
import type { InvalidMessage, Message } from "../types.ts";

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
