import type { Connection } from "../connection/connection.ts";
import { peekSent } from "../queries/testing.ts";
import { decodePayload } from "../payload/payload.ts";
import type { Queue } from "../queue/define-queue.ts";
import type { Message, MessageTypes } from "../types.ts";
import type { Transaction } from "../adapters/in-transaction.ts";
import { text, unchecked, type Check } from "../options/checks.ts";
import type { CallOptions } from "../options/option.ts";

/** A message that was sent, whoever has received it. Its payload is what a receiver is given. */
export interface SentMessage<Payload = unknown, Type extends string = string> extends Omit<
  Message<Payload, Type>,
  "batchId" | "attempt" | "crashes"
> {
  /** When it becomes due; null when it was sent without delay, and once it was due and maintenance has delivered it. */
  readonly dueAt: Date | null;
  /** When it expires; null: never. */
  readonly expiresAt: Date | null;
}

/** What was sent to a queue of these types, by some of its types: a union to be told apart by `type`. */
export type SentMessageOf<Types extends MessageTypes, Type extends keyof Types & string = keyof Types & string> = {
  [T in Type]: SentMessage<Types[T]["output"], T>;
}[Type];

/** Which of the messages that were sent. */
export interface SentOptions<Type extends string = string> extends CallOptions {
  /** Only messages of this type. Default: all. */
  type?: Type | undefined;
  /** Only messages with this key. Default: all. */
  key?: string | undefined;
  /** Looks from inside this transaction, of any library that `inTransaction(tx)` takes, and sees what it has sent too. Default: what is committed. */
  transaction?: Transaction | undefined;
}

export const sentChecks: Record<Exclude<keyof SentOptions, keyof CallOptions>, Check> = {
  type: text,
  key: text,
  // what it is made of says `queryableOf`
  transaction: unchecked(),
};

/** What was sent after the message `afterId`, in the order in which it was sent. */
export async function readSent(
  db: Connection,
  queue: Queue,
  afterId: string,
  { type, key, signal }: SentOptions,
): Promise<SentMessage[]> {
  const rows = await peekSent(db, queue.name, afterId, signal);
  const wanted = rows.filter(
    (row) => (type === undefined || row.type === type) && (key === undefined || row.key === key),
  );
  return Promise.all(
    wanted.map(async (row) => {
      const decoded = await decodePayload(queue, row.type, row.payload, db.callTimeoutMs);
      if ("error" in decoded) throw decoded.error;
      return { ...row, payload: decoded.payload };
    }),
  );
}
