import type {
  DeadLetter,
  DeadLetterFilter,
  ListDeadLettersOptions,
  PurgeDeadLettersOptions,
} from "../admin/dead-letter-options.ts";
import type { Connection } from "../connection/connection.ts";
import { headers, number, orNull, payload, select, text, time } from "./columns.ts";
import { called, list, type Arguments } from "./values.ts";

/** The arguments that all three functions have. */
function filter(queue: string, { consumer, type, reasonLike, diedAfter, diedBefore }: DeadLetterFilter): Arguments {
  return {
    queue,
    consumer,
    type_name: type,
    reason_like: reasonLike,
    "died_after timestamptz": diedAfter?.toISOString(),
    "died_before timestamptz": diedBefore?.toISOString(),
  };
}

const columns = {
  id: text("id"),
  consumer: text("consumer"),
  messageId: text("message_id"),
  attempt: number("attempt"),
  type: text("type"),
  payload: payload("payload"),
  headers: headers("headers"),
  priority: orNull(number("priority")),
  key: orNull(text("key")),
  reason: orNull(text("reason")),
  createdAt: time("created_at"),
  diedAt: time("died_at"),
};

export function listDeadLetters(db: Connection, queue: string, options: ListDeadLettersOptions): Promise<DeadLetter[]> {
  const { beforeId, max = 100, signal } = options;
  const [from, values] = called("dead_letters", {
    ...filter(queue, options),
    "before_id bigint": beforeId,
    "max_messages int": max.toString(),
  });
  return select(db, columns, from, values, { queue, signal });
}

/** `max` undefined: all. */
export function settleDeadLetters(
  db: Connection,
  how: "redrive" | "purge_dead_letters",
  queue: string,
  options: PurgeDeadLettersOptions,
): Promise<number> {
  const { ids, max, signal } = options;
  const scope = { "ids bigint[]": ids && list(ids), "max_messages int": max?.toString() };
  return db.count(how, { ...filter(queue, options), ...scope }, { queue, signal });
}
