import type { Connection } from "../connection/connection.ts";
import { type Id, id as isId, name } from "../options/checks.ts";
import { callProblems, refuse, type CallOptions, type OptionTable, type OptionsOf } from "../options/option.ts";
import { orNull, select, text, time } from "../queries/columns.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import { receiveOptions } from "../receive/receive-options.ts";

/** The options of `result`. */
export const resultOptions = {
  /** Of which consumer. Default: `default`. */
  consumer: { check: name, default: receiveOptions.consumer.default, help: "of which consumer" },
} satisfies OptionTable;

/** Which result of a message. */
export interface ResultOptions extends OptionsOf<typeof resultOptions>, CallOptions {}

/** What came of a message that was sent with `resultTtlMs`, or called. */
export type MessageResult =
  | {
      state: "done";
      /** What its handler gave to `done`; undefined: nothing. */
      result: unknown;
      settledAt: Date;
    }
  | {
      /** It is a dead letter. */
      state: "dead";
      reason: string | null;
      settledAt: Date;
    };

const columns = {
  state: text<MessageResult["state"]>("r.state"),
  result: orNull(text("r.result")),
  reason: orNull(text("r.reason")),
  settledAt: time("r.settled_at"),
};

export async function result(
  db: Connection,
  queue: QueueRef,
  id: Id,
  options: ResultOptions = {},
): Promise<MessageResult | undefined> {
  refuse("result", [isId("id", id), ...callProblems(options, resultOptions)]);
  const { consumer = resultOptions.consumer.default, signal } = options;
  return readResult(db, queueOf("result", queue).name, String(id), consumer, null, signal);
}

/** @param replyTo the header of the message, for a role that may only send */
export async function readResult(
  db: Connection,
  queue: string,
  id: string,
  consumer: string,
  replyTo: string | null,
  signal?: AbortSignal,
): Promise<MessageResult | undefined> {
  const from = (s: string): string => `${s}.result($1, $2::text::bigint, $3, $4) r`;
  const call = { queue, consumer, signal };
  const [row] = await select(db, columns, from, [queue, id, consumer, replyTo], call);
  if (row === undefined) return undefined;
  const { state, settledAt, reason } = row;
  if (state === "dead") return { state, reason, settledAt };
  return { state, result: row.result === null ? undefined : JSON.parse(row.result), settledAt };
}
