import type { StandardSchemaV1 } from "@standard-schema/spec";
import { cancel } from "../cancel/cancel.ts";
import type { Connection } from "../connection/connection.ts";
import { isPgqueError, PgqueError } from "../errors/errors.ts";
import { callProblems, completed, refuse, type DefaultsOf } from "../options/option.ts";
import { validate } from "../payload/validate.ts";
import { queueOf, type Queue, type QueueRef } from "../queue/define-queue.ts";
import { send } from "../send/send.ts";
import { readResult } from "./message-result.ts";
import type { Replies } from "./replies.ts";
import { replyOptions, type ReplyOptions } from "./reply-options.ts";

/** How long the cancelling of a call that is over may take. */
const cancelMs = 1000;

/** Sends a message and waits for what came of it. */
export async function call(
  db: Connection,
  replies: Replies,
  ref: QueueRef,
  payload: unknown,
  given: ReplyOptions = {},
): Promise<unknown> {
  const queue = queueOf("call", ref);
  refuse("call", [...callProblems(given, replyOptions)]);
  const options = completed(given, waiting);
  const answer = (): Promise<unknown> => answered(db, replies, queue, payload, options);
  const source = { queue: queue.name, consumer: options.consumer };
  return db.telemetry === undefined ? answer() : db.telemetry.call(source, answer);
}

async function answered(
  db: Connection,
  replies: Replies,
  queue: Queue,
  payload: unknown,
  { waitMs, consumer, result: schema, cancelOnTimeout, signal, ...options }: ReplyOptions & DefaultsOf<typeof waiting>,
): Promise<unknown> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), waitMs);
  const ended = AbortSignal.any([over.signal, ...(signal ? [signal] : [])]);
  const headers = { ...options.headers, "pgque-reply-to": replies.token };
  let id: string | undefined;
  try {
    const sending = { resultTtlMs: waitMs, ...options, headers, signal: ended };
    ({ id } = await replies.join(() => send(db, queue, payload, sending), ended));
    for (let n = 0; ; n += 1) {
      await replies.next(id, consumer, n, ended);
      const found = await readResult(db, queue.name, id, consumer, replies.token, ended);
      if (found?.state === "dead") throw deadError(queue.name, consumer, id, found.reason);
      if (found) return await checked(schema, found.result, queue.name, id);
    }
  } catch (error) {
    const isAnswer = isPgqueError(error, "MESSAGE_DEAD") || isPgqueError(error, "RESULT_INVALID");
    if (isAnswer || !over.signal.aborted || signal?.aborted) throw error;
    throw await timeoutError(db, queue, consumer, id, waitMs, cancelOnTimeout, error);
  } finally {
    clearTimeout(timer);
    replies.leave();
  }
}

const { waitMs, consumer, cancelOnTimeout } = replyOptions;
const waiting = { waitMs, consumer, cancelOnTimeout };

async function checked(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  queue: string,
  id: string,
): Promise<unknown> {
  if (schema === undefined) return value;
  const result = await validate(schema, value, []);
  if (!("issues" in result)) return result.value;
  const [first] = result.issues;
  throw new PgqueError(
    "RESULT_INVALID",
    `the result of message ${id} does not match: ${first?.path || "it"}: ${first?.message}`,
    {
      hint: "The message is done. Compare what its handler gives to `done` with the schema given as `result`",
      details: { queue, issues: result.issues },
    },
  );
}

function deadError(queue: string, consumer: string, id: string, reason: string | null): PgqueError {
  return new PgqueError("MESSAGE_DEAD", `message ${id} is a dead letter: ${reason ?? "no reason was given"}`, {
    details: { queue, consumer },
  });
}

async function timeoutError(
  db: Connection,
  { name: queue }: Queue,
  consumer: string,
  id: string | undefined,
  limitMs: number,
  cancelled: boolean,
  cause: unknown,
): Promise<PgqueError> {
  const details = { queue, consumer };
  if (id === undefined)
    return new PgqueError("CALL_TIMEOUT", `the message was not sent within ${limitMs} ms`, {
      hint: "Whether it was is not known",
      details,
      cause,
    });
  const message = `message ${id} has no result after ${limitMs} ms`;
  const hint = cancelled ? await cancelledHint(db, queue, id) : "It may still be handled";
  return new PgqueError("CALL_TIMEOUT", message, {
    hint: `${hint}. Is a worker of consumer ${consumer} running?`,
    details,
  });
}

async function cancelledHint(db: Connection, queue: string, id: string): Promise<string> {
  try {
    const answers = await cancel(db, queue, id, { signal: AbortSignal.timeout(cancelMs) });
    return `It is ${[...new Set(answers.map(({ state }) => state))].join(", ")}`;
  } catch (error) {
    return `It could not be cancelled: ${error instanceof Error ? error.message : String(error)}`;
  }
}
