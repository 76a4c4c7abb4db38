import type { Connection } from "../connection/connection.ts";
import { resultJson } from "../call/result-json.ts";
import * as receiving from "../queries/receiving.ts";
import type { JsonResult } from "../queries/receiving.ts";
import * as upkeep from "../queries/runtime.ts";
import { list, milliseconds, type Arguments } from "../queries/values.ts";
import { delayMs } from "../send/send-options.ts";
import type { SettleOperation, Source } from "../types.ts";
import { callProblems, refuse, type CallOptions } from "../options/option.ts";
import { type Id, id, ids, integer } from "../options/checks.ts";
import {
  defaultRetryAfterMs,
  nackOptions,
  reason as reasonCheck,
  resultsOptions,
  resultsProblems,
  type Result,
  type ResultsOptions,
  settleProblems,
  storable,
  type NackOptions,
  type SettleOptions,
} from "./settle-options.ts";

const dayMs = 86_400_000;

/** Settles batches by their ids. */
export class Settler {
  readonly #db: Connection;
  readonly #source: Source | undefined;

  /** @param source whose batches they are, as far as that is known: for telemetry */
  constructor(db: Connection, source?: Source) {
    this.#db = db;
    this.#source = source;
  }

  /**
   * Acks messages of a batch; without ids all that are not settled yet, whether they fit the schema or not.
   *
   * @returns false when the lease was lost, or the batch is unknown or finished: the messages may be delivered again
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * if (batch.id !== null) await pgque.ack(batch.id);
   */
  async ack(batchId: Id, messageIds?: readonly Id[], options: CallOptions = {}): Promise<boolean> {
    refuseAck("ack", batchId, messageIds, options);
    const { signal } = options;
    return watched(this.#db, this.#source, "ack", messageIds?.length, () =>
      receiving.ack(this.#db, batchId, messageIds ?? null, signal),
    );
  }

  /**
   * Acks as `ack` does, in the transaction that does the messages' work, and fails when the lease is lost, or a message that is named was
   * settled before: the transaction rolls back, and the work is that of whoever has the messages now. While it is open the lease is not
   * taken away.
   *
   * @throws PgqueError LEASE_LOST, NOT_IN_BATCH
   * @example
   * // in the transaction that did the work
   * if (batch.id !== null) await pgque.inTransaction(tx).ackStrict(batch.id);
   */
  async ackStrict(batchId: Id, messageIds?: readonly Id[], options: CallOptions = {}): Promise<void> {
    refuseAck("ackStrict", batchId, messageIds, options);
    return watched(this.#db, this.#source, "ack", messageIds?.length, () =>
      receiving.ackStrict(this.#db, batchId, messageIds ?? null, options.signal),
    );
  }

  /**
   * Acks messages of a batch, and keeps the result of each: for a `call` that waits for it, and for `result` to read. With it the batch ends, when all its
   * other messages are settled.
   *
   * @returns false when the lease was lost, or the batch is unknown or finished: nothing was kept
   * @throws PgqueError NOT_IN_BATCH, PAYLOAD_NOT_JSON; INVALID_ARGUMENT when a result is larger than a mebibyte; if `strict` LEASE_LOST, as `ackStrict`
   * @example
   * const results = batch.messages.map(({ id, payload }) => ({ id, result: { charged: payload.orderId } }));
   * if (batch.id !== null) await pgque.ackWithResults(batch.id, results);
   */
  async ackWithResults(batchId: Id, results: readonly Result[], options: ResultsOptions = {}): Promise<boolean> {
    refuse("ackWithResults", [id("batchId", batchId), ...resultsProblems(results, options)]);
    const { strict = false, signal } = options;
    const encoded = results.map(({ id: of, result }) => ({ id: of, json: resultJson(result) }));
    return watched(this.#db, this.#source, "ack", encoded.length, () =>
      receiving.ackWithResults(this.#db, batchId, encoded, strict, signal),
    );
  }

  /**
   * Gives messages of a batch back, to be tried again later, or as dead letters when their attempts are used up.
   *
   * @returns how many; those settled before are left alone. 0 also when the lease was lost, or the batch is unknown or finished
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const ids = batch.messages.map((message) => message.id);
   * if (batch.id !== null) await pgque.nack(batch.id, ids, { retryAfterMs: 5000, reason: "gateway timeout" });
   */
  async nack(batchId: Id, messageIds: readonly Id[], options: NackOptions = {}): Promise<number> {
    refuse("nack", [id("batchId", batchId), ids("messageIds", messageIds), ...callProblems(options, nackOptions)]);
    const { retryAfterMs = defaultRetryAfterMs, signal } = options;
    const how = { "retry_after interval": milliseconds(retryAfterMs), reason: storable(options.reason) };
    return this.#giveBack("nack", batchId, messageIds, how, signal);
  }

  /**
   * Gives messages of a batch back, to come again after `afterMs` at the same attempt, as often as you like.
   *
   * @param afterMs in milliseconds, fractions are rounded. 0 to a hundred years
   * @returns how many; those settled before are left alone. 0 also when the lease was lost, or the batch is unknown or finished
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const ids = batch.messages.map((message) => message.id);
   * if (batch.id !== null) await pgque.snooze(batch.id, ids, 60_000);
   */
  async snooze(batchId: Id, messageIds: readonly Id[], afterMs: number, options: CallOptions = {}): Promise<number> {
    refuse("snooze", [
      id("batchId", batchId),
      ids("messageIds", messageIds),
      delayMs("afterMs", afterMs ?? null),
      ...callProblems(options),
    ]);
    return this.#giveBack(
      "snooze",
      batchId,
      messageIds,
      { "snooze_after interval": milliseconds(afterMs) },
      options.signal,
    );
  }

  /**
   * Makes dead letters of messages of a batch now, whatever attempts they have left.
   *
   * @param reason kept with the dead letters. Default: none
   * @returns how many; those settled before are left alone. 0 also when the lease was lost, or the batch is unknown or finished
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const ids = batch.messages.map((message) => message.id);
   * if (batch.id !== null) await pgque.bury(batch.id, ids, "no such order");
   */
  async bury(
    batchId: Id,
    messageIds: readonly Id[],
    reason?: string | null,
    options: CallOptions = {},
  ): Promise<number> {
    refuse("bury", [
      id("batchId", batchId),
      ids("messageIds", messageIds),
      reasonCheck("reason", reason),
      ...callProblems(options),
    ]);
    return this.#giveBack("bury", batchId, messageIds, { reason: storable(reason) }, options.signal);
  }

  /**
   * Finishes a batch in one call: retries some messages, releases some, snoozes some, makes dead letters of some, acks all others.
   *
   * @returns false when the lease was lost, or the batch is unknown or finished: nothing was settled
   * @throws PgqueError NOT_IN_BATCH
   * @example
   * const [first] = batch.messages;
   * if (batch.id !== null && first) await pgque.settle(batch.id, { retry: [{ id: first.id, afterMs: 5000, reason: "declined" }] });
   */
  async settle(batchId: Id, options: SettleOptions = {}): Promise<boolean> {
    refuse("settle", [id("batchId", batchId), ...settleProblems(options)]);
    const { retry = [], release = [], snooze = [], dead = [], signal } = options;
    const outcomes = {
      retryIds: retry.map((r) => r.id),
      retryAfterMs: retry.map((r) => r.afterMs),
      reasons: retry.map((r) => storable(r.reason)),
      releaseIds: release,
      snoozeIds: snooze.map((s) => s.id),
      snoozeAfterMs: snooze.map((s) => s.afterMs),
      deadIds: dead.map((d) => d.id),
      deadReasons: dead.map((d) => storable(d.reason)),
    };
    return watched(this.#db, this.#source, "settle", undefined, () =>
      receiving.settle(this.#db, batchId, outcomes, signal),
    );
  }

  /**
   * Keeps a batch, and all others of its worker name, for another lease from now; one that is longer stays as it is.
   *
   * @param leaseMs in milliseconds, 1 to 86400000 (a day). Default: 30000
   * @returns false when the lease was lost, or the batch is unknown or finished
   * @example
   * if (batch.id !== null && !(await pgque.extend(batch.id, 120_000))) throw new Error("somebody else has it by now");
   */
  async extend(batchId: Id, leaseMs: number = 30_000, options: CallOptions = {}): Promise<boolean> {
    refuse("extend", [id("batchId", batchId), integer(1, dayMs)("leaseMs", leaseMs), ...callProblems(options)]);
    return upkeep.extend(this.#db, String(batchId), leaseMs, options.signal);
  }

  #giveBack(
    name: "nack" | "snooze" | "bury",
    batchId: Id,
    messageIds: readonly Id[],
    how: Arguments,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const args = { "batch_id bigint": batchId, "message_ids bigint[]": list(messageIds), ...how };
    return watched(this.#db, this.#source, name, messageIds.length, () => this.#db.count(name, args, { signal }));
  }
}

/** What workers settle with: of one source, in transactions, and with reports of suspects. */
export class WorkerSettler extends Settler {
  readonly #db: Connection;
  readonly #source: Source;

  constructor(db: Connection, source: Source) {
    super(db, source);
    this.#db = db;
    this.#source = source;
  }

  /** Ends the transaction of the connection with an ack as `ackStrict`: it commits, or the ack fails and it is to be rolled back. */
  async ackAndCommit(batchId: Id, messageIds: readonly Id[]): Promise<void> {
    refuseAck("ackAndCommit", batchId, messageIds, {});
    return watched(this.#db, this.#source, "ack", messageIds.length, () =>
      receiving.ackAndCommit(this.#db, batchId, messageIds),
    );
  }

  /** As `ackWithResults`, of results that are JSON already. */
  async ackWithJson(batchId: Id, results: readonly JsonResult[], options: ResultsOptions = {}): Promise<boolean> {
    refuse("ackWithJson", [id("batchId", batchId), ...callProblems(options, resultsOptions)]);
    const { strict = false, signal } = options;
    return watched(this.#db, this.#source, "ack", results.length, () =>
      receiving.ackWithResults(this.#db, batchId, results, strict, signal),
    );
  }

  /** Says that the handler of a message begins, or goes on beside others: see `Message.crashes`. False: the lease is lost. */
  async reportStarted(batchId: Id, messageId: Id, alone: boolean, options: CallOptions = {}): Promise<boolean> {
    refuse("reportStarted", [id("batchId", batchId), id("messageId", messageId), ...callProblems(options)]);
    return receiving.reportStarted(this.#db, batchId, messageId, alone, options.signal);
  }
}

function refuseAck(where: string, batchId: Id, messageIds: readonly Id[] | undefined, options: CallOptions) {
  refuse(where, [
    id("batchId", batchId),
    messageIds === undefined ? undefined : ids("messageIds", messageIds),
    ...callProblems(options),
  ]);
}

/** `count`: how many messages were named; undefined: the whole batch. */
function watched<Result>(
  { telemetry }: Connection,
  source: Source | undefined,
  name: SettleOperation["name"],
  count: number | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  return telemetry === undefined ? work() : telemetry.settle({ name, source, count }, work);
}
