import { untilAborted } from "../connection/abortable.ts";
import type { Connection } from "../connection/connection.ts";
import * as queries from "../queries/sending.ts";
import { encodePayloads, typeProblem } from "../payload/payload.ts";
import { queueOf, type Queue, type QueueRef } from "../queue/define-queue.ts";
import type { Sent } from "../types.ts";
import { show } from "../options/checks.ts";
import { callProblems, refuse } from "../options/option.ts";
import { withDefaults, withManyDefaults } from "./defaults.ts";
import { encodeSendOptions } from "./encode-options.ts";
import {
  defaultType,
  sendOptions,
  sendConflicts,
  sendManyOptions,
  type SendManyOptions,
  type SendOptions,
} from "./send-options.ts";

/** One message. */
export async function send(db: Connection, ref: QueueRef, payload: unknown, given: SendOptions = {}): Promise<Sent> {
  const queue = queueOf("send", ref);
  refuse("send", [
    ...callProblems(given, sendOptions),
    ...sendConflicts(given, queue.defaults.dedupeKey !== undefined),
    typeProblem(queue, given?.type),
  ]);
  const { signal, type = defaultType, ...options } = withDefaults(queue, payload, given.type ?? defaultType, given);
  signal?.throwIfAborted();
  const [json = ""] = await untilAborted(encodePayloads(queue, type, [payload]), signal);
  const { telemetry } = db;
  if (telemetry === undefined) return sendText(db, queue, type, json, { ...options, signal });
  const operation = { queue: queue.name, type, headers: options.headers, count: undefined };
  return telemetry.send(operation, (headers) => sendText(db, queue, type, json, { ...options, headers, signal }));
}

function sendText(
  db: Connection,
  queue: Queue,
  type: string,
  payload: string,
  { signal, ...options }: SendOptions,
): Promise<Sent> {
  const { all } = encodeSendOptions(queue.name, options);
  // a second try would replace the first one
  const keeps = options.ifWaiting === undefined || options.ifWaiting === "keep";
  const idempotent = options.dedupeKey !== undefined && keeps && outlivesTries(db, options.dedupeTtlMs);
  return queries.send(
    db,
    { queue: queue.name, type, payload, options: all, keyed: options.dedupeKey !== undefined, idempotent },
    signal,
  );
}

/** Many messages in one statement, in the order of the payloads. */
export async function sendMany(
  db: Connection,
  ref: QueueRef,
  payloads: readonly unknown[],
  given: SendManyOptions = {},
): Promise<Sent[]> {
  const queue = queueOf("sendMany", ref);
  refuse("sendMany", [
    Array.isArray(payloads) ? undefined : `expected \`payloads\` to be an array, got: ${show(payloads)}`,
    ...callProblems(given, sendManyOptions),
    ...sendConflicts(given, queue.defaults.dedupeKey !== undefined),
    typeProblem(queue, given?.type),
    countProblem("keys", given?.keys, payloads),
    countProblem("dedupeKeys", given?.dedupeKeys, payloads),
  ]);
  given.signal?.throwIfAborted();
  if (payloads.length === 0) return [];
  const { type = defaultType, ...options } = withManyDefaults(queue, payloads, given.type ?? defaultType, given);
  const texts = await untilAborted(encodePayloads(queue, type, payloads, 0), options.signal);
  return sendTexts(db, queue, type, texts, options);
}

/** Payloads that are JSON texts already, with options that are complete. */
export async function sendTexts(
  db: Connection,
  queue: Queue,
  type: string,
  payloads: readonly string[],
  options: SendManyOptions,
): Promise<Sent[]> {
  const { telemetry } = db;
  if (telemetry === undefined) return sendBatch(db, queue, type, payloads, options);
  const operation = { queue: queue.name, type, headers: options.headers, count: payloads.length };
  return telemetry.send(operation, (headers) => sendBatch(db, queue, type, payloads, { ...options, headers }));
}

function sendBatch(
  db: Connection,
  queue: Queue,
  type: string,
  payloads: readonly string[],
  { signal, ...options }: SendManyOptions,
): Promise<Sent[]> {
  const { headers, rest } = encodeSendOptions(queue.name, options);
  const idempotent =
    options.dedupeKeys !== undefined && !options.dedupeKeys.includes(null) && outlivesTries(db, options.dedupeTtlMs);
  return queries.sendBatch(
    db,
    { queue: queue.name, type, payloads, headers, options: rest, keyed: options.dedupeKeys !== undefined, idempotent },
    signal,
  );
}

/** Whether a dedupe key counts until the last try of a call is over, for which there is as much time again. */
function outlivesTries(db: Connection, dedupeTtlMs: number = sendOptions.dedupeTtlMs.default): boolean {
  return dedupeTtlMs >= 2 * db.retryForMs;
}

function countProblem(name: string, list: unknown, payloads: unknown): string | undefined {
  return Array.isArray(list) && Array.isArray(payloads) && list.length !== payloads.length
    ? `expected as many \`${name}\` as payloads (${payloads.length}), got: ${list.length}`
    : undefined;
}
