import type { Connection } from "../connection/connection.ts";
import * as receiving from "../queries/receiving.ts";
import * as upkeep from "../queries/runtime.ts";
import { list, milliseconds, type Arguments } from "../queries/values.ts";
import { delayMs } from "../send/send-options.ts";
import type { SettleOperation, Source } from "../types.ts";
import { integer } from "../options/checks.ts";
import { callProblems, refuse, type CallOptions } from "../options/option.ts";
import { id, ids } from "../options/checks.ts";
import {
  defaultRetryAfterMs,
  nackOptions,
  reason as reasonCheck,
  settleProblems,
  storable,
  type NackOptions,
  type SettleOptions,
} from "./settle-options.ts";

const dayMs = 86_400_000;

/** Settles batches by their ids. What its methods do is said where `Operations` has them. */
export class Settler {
  readonly #db: Connection;
  readonly #source: Source | undefined;

  /** @param source whose batches they are, as far as that is known: for telemetry */
  constructor(db: Connection, source?: Source) {
    this.#db = db;
    this.#source = source;
  }

  async ack(batchId: string, messageIds?: readonly string[], options: CallOptions = {}): Promise<boolean> {
    refuseAck("ack", batchId, messageIds, options);
    const { signal } = options;
    return this.#watched("ack", messageIds?.length, () => receiving.ack(this.#db, batchId, messageIds ?? null, signal));
  }

  async ackStrict(batchId: string, messageIds?: readonly string[], options: CallOptions = {}): Promise<void> {
    refuseAck("ackStrict", batchId, messageIds, options);
    return this.#watched("ack", messageIds?.length, () =>
      receiving.ackStrict(this.#db, batchId, messageIds ?? null, options.signal),
    );
  }

  /** Ends the transaction of the connection with an ack as `ackStrict`: it commits, or the ack fails and it is to be rolled back. */
  async ackAndCommit(batchId: string, messageIds: readonly string[]): Promise<void> {
    refuseAck("ackAndCommit", batchId, messageIds, {});
    return this.#watched("ack", messageIds.length, () => receiving.ackAndCommit(this.#db, batchId, messageIds));
  }

  async nack(batchId: string, messageIds: readonly string[], options: NackOptions = {}): Promise<number> {
    refuse("nack", [id("batchId", batchId), ids("messageIds", messageIds), ...callProblems(options, nackOptions)]);
    const { retryAfterMs = defaultRetryAfterMs, signal } = options;
    const how = { "retry_after interval": milliseconds(retryAfterMs), reason: storable(options.reason) };
    return this.#giveBack("nack", batchId, messageIds, how, signal);
  }

  async snooze(
    batchId: string,
    messageIds: readonly string[],
    afterMs: number,
    options: CallOptions = {},
  ): Promise<number> {
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

  async bury(
    batchId: string,
    messageIds: readonly string[],
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

  /** Says that the handler of a message begins, or goes on beside others: see `Message.crashes`. False: the lease is lost. */
  async tellBegun(batchId: string, messageId: string, alone: boolean, options: CallOptions = {}): Promise<boolean> {
    refuse("tellBegun", [id("batchId", batchId), id("messageId", messageId), ...callProblems(options)]);
    return receiving.tellBegun(this.#db, batchId, messageId, alone, options.signal);
  }

  async settle(batchId: string, options: SettleOptions = {}): Promise<boolean> {
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
    return this.#watched("settle", undefined, () => receiving.settle(this.#db, batchId, outcomes, signal));
  }

  async extend(batchId: string, leaseMs: number = 30_000, options: CallOptions = {}): Promise<boolean> {
    refuse("extend", [id("batchId", batchId), integer(1, dayMs)("leaseMs", leaseMs), ...callProblems(options)]);
    return upkeep.extend(this.#db, batchId, leaseMs, options.signal);
  }

  #giveBack(
    name: "nack" | "snooze" | "bury",
    batchId: string,
    messageIds: readonly string[],
    how: Arguments,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const args = { "batch_id bigint": batchId, "message_ids bigint[]": list(messageIds), ...how };
    return this.#watched(name, messageIds.length, () => this.#db.count(name, args, { signal }));
  }

  /** `count`: how many messages were named; undefined: the whole batch. */
  #watched<Result>(
    name: SettleOperation["name"],
    count: number | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { telemetry } = this.#db;
    return telemetry === undefined ? work() : telemetry.settle({ name, source: this.#source, count }, work);
  }
}

function refuseAck(where: string, batchId: string, messageIds: readonly string[] | undefined, options: CallOptions) {
  refuse(where, [
    id("batchId", batchId),
    messageIds === undefined ? undefined : ids("messageIds", messageIds),
    ...callProblems(options),
  ]);
}
