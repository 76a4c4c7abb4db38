import type { StandardSchemaV1 } from "@standard-schema/spec";
import { cancel } from "../cancel/cancel.ts";
import type { Connection } from "../connection/connection.ts";
import { isPgqueError, PgqueError } from "../errors/errors.ts";
import { boolean, integer, name } from "../options/checks.ts";
import {
  callProblems,
  completed,
  refuse,
  type CallOptions,
  type OptionTable,
  type OptionsOf,
} from "../options/option.ts";
import { validate } from "../payload/validate.ts";
import { queueOf, standardSchema, type QueueRef } from "../queue/define-queue.ts";
import { defaultConsumer } from "../receive/receive.ts";
import { commonOptions } from "../send/send-options.ts";
import { send } from "../send/send.ts";
import { readResult } from "./message-result.ts";
import type { Replies } from "./replies.ts";

const dayMs = 86_400_000;

/** How long the cancelling of a call that is over may take. */
const cancelMs = 1000;

/** The options of `call`, beside those of `send`. */
export const replyOptions = {
  ...commonOptions,
  /** How long to wait for the result, in milliseconds. 1 to 86400000 (a day). Default: 30000. */
  waitMs: { check: integer(1, dayMs), default: 30_000, help: "how long to wait for the result" },
  /** The consumer whose result is waited for. Default: `default`. */
  consumer: { check: name, default: defaultConsumer, help: "whose result is waited for" },
  /** What the result must be: of zod, valibot, arktype, or any other Standard Schema. Default: anything. */
  result: {
    check: standardSchema,
    absent: "anything",
    help: "a schema for the result",
  },
  /** Whether the message is cancelled when its result has not come in time, on a queue with `allowCancel`. It takes a second more at most. Default: false. */
  cancelOnTimeout: { check: boolean, default: false, help: "cancel the message when its result has not come in time" },
} satisfies OptionTable;

/** How a message is sent whose result is waited for. */
export interface ReplyOptions extends OptionsOf<typeof replyOptions>, CallOptions {}

/** What the schema that was given makes of a result; unknown without one. */
export type ReplyOf<Options> = Options extends { result: infer Schema extends StandardSchemaV1 }
  ? StandardSchemaV1.InferOutput<Schema>
  : unknown;

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
  const { waitMs, consumer, result: schema, cancelOnTimeout, signal, ...options } = completed(given, waiting);
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), waitMs);
  const ended = AbortSignal.any([over.signal, ...(signal ? [signal] : [])]);
  const headers = { ...options.headers, "pgque-reply-to": replies.token };
  let id: string | undefined;
  try {
    const sending = { resultTtlMs: waitMs, ...options, headers, signal: ended };
    ({ id } = await replies.join(() => send(db, ref, payload, sending), ended));
    for (let n = 0; ; n += 1) {
      await replies.next(id, consumer, n, ended);
      const found = await readResult(db, queue.name, id, consumer, replies.token, ended);
      if (found?.state === "dead") throw deadError(queue.name, consumer, id, found.reason);
      if (found) return await checked(schema, found.result, queue.name, id);
    }
  } catch (error) {
    const isAnswer = isPgqueError(error, "MESSAGE_DEAD") || isPgqueError(error, "RESULT_INVALID");
    if (isAnswer || !over.signal.aborted || signal?.aborted) throw error;
    throw await timeoutError(db, ref, consumer, id, waitMs, cancelOnTimeout, error);
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
  ref: QueueRef,
  consumer: string,
  id: string | undefined,
  limitMs: number,
  cancelled: boolean,
  cause: unknown,
): Promise<PgqueError> {
  const { name: queue } = queueOf("call", ref);
  const details = { queue, consumer };
  if (id === undefined)
    return new PgqueError("CALL_TIMEOUT", `the message was not sent within ${limitMs} ms`, {
      hint: "Whether it was is not known",
      details,
      cause,
    });
  const message = `message ${id} has no result after ${limitMs} ms`;
  const hint = cancelled ? await cancelledHint(db, ref, id) : "It may still be handled";
  return new PgqueError("CALL_TIMEOUT", message, {
    hint: `${hint}. Is a worker of consumer ${consumer} running?`,
    details,
  });
}

async function cancelledHint(db: Connection, ref: QueueRef, id: string): Promise<string> {
  try {
    const answers = await cancel(db, ref, id, { signal: AbortSignal.timeout(cancelMs) });
    return `It is ${[...new Set(answers.map(({ state }) => state))].join(", ")}`;
  } catch (error) {
    return `It could not be cancelled: ${error instanceof Error ? error.message : String(error)}`;
  }
}
