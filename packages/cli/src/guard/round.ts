import type { Logger } from "@pgque/worker";
import type { Client } from "pg";
import type { Holder } from "../horizon/holder.ts";
import { findTransactions } from "../horizon/holders.ts";
import { showDuration } from "../output/duration.ts";
import { nextSignal, type Policy, exemptionOf } from "./policy.ts";
import { keyOf, type Signal, signalTransaction, targetOf } from "./target.ts";

/** What has been done about a transaction. */
interface Case {
  fields: Record<string, unknown>;
  /** Since when it has time to end, by the monotonic clock. */
  sinceMs: number;
  isCancelled: boolean;
  isTerminated: boolean;
  isRefused: boolean;
}

/** The transactions of one server that guard has seen and that are not over. */
export class Rounds {
  readonly #policy: Policy;
  readonly #log: Logger;
  readonly #server: string;
  #cases = new Map<string, Case>();
  #isHidden = false;

  constructor(server: string, policy: Policy, log: Logger) {
    this.#server = server;
    this.#policy = policy;
    this.#log = log;
  }

  /**
   * Looks once, says what is new and does what is due. Returns whether something is still to be done about what it saw.
   *
   * @param options `onlyKnown`: what is new is somebody else's business. Default: false
   */
  async go(client: Client, { onlyKnown = false }: { onlyKnown?: boolean } = {}): Promise<boolean> {
    const holders = await findTransactions(client);
    this.#warnWhenHidden(holders);
    const seen = new Map<string, Case>();
    for (const holder of holders) {
      const target = targetOf(holder);
      if (target === undefined || exemptionOf(holder, this.#policy) !== undefined) continue;
      const key = keyOf(target);
      const known = this.#cases.get(key) ?? (onlyKnown ? undefined : this.#open(holder));
      if (known === undefined) continue;
      seen.set(key, known);
      const signal = this.#due(known, holder.isActive);
      if (signal !== undefined) await this.#send(signal, known, () => signalTransaction(client, target, signal));
    }
    for (const [key, { fields }] of this.#cases) {
      if (!seen.has(key)) this.#log.info("it is over", fields);
    }
    this.#cases = seen;
    return this.#policy.signal === "terminate" && [...seen.values()].some((of) => !of.isTerminated && !of.isRefused);
  }

  #open({ name, ageMs, ageTransactions, isActive, details }: Holder): Case {
    const { user, application, database, state, query } = details;
    const fields = { server: this.#server, pid: Number(name), user, application, database };
    const plan = this.#plan(isActive);
    this.#log.warn("a transaction holds the horizon", {
      ...fields,
      ageMs: Math.round(ageMs ?? 0),
      ageTransactions,
      state,
      query,
      plan,
    });
    return { fields, sinceMs: performance.now(), isCancelled: false, isTerminated: false, isRefused: false };
  }

  /** What is going to be done about a transaction, in words. */
  #plan(isActive: boolean): string {
    switch (this.#policy.signal) {
      case undefined:
        return `nothing, this is a dry run: ${isActive ? "--cancel or --terminate" : "--terminate"} would end it`;
      case "cancel":
        return isActive ? "cancel" : "nothing, it is idle: a cancel does nothing to it, --terminate would end it";
      default:
        return `${isActive ? "cancel, and " : ""}terminate in ${showDuration(this.#policy.graceMs)}`;
    }
  }

  #due({ sinceMs, isCancelled, isTerminated, isRefused }: Case, isActive: boolean): Signal | undefined {
    if (isTerminated || isRefused) return undefined;
    return nextSignal({ waitedMs: performance.now() - sinceMs, isCancelled, isActive }, this.#policy);
  }

  async #send(signal: Signal, known: Case, send: () => Promise<boolean>): Promise<void> {
    try {
      if (!(await send())) return;
    } catch (error) {
      if ((error as { code?: string }).code !== "42501") throw error;
      known.isRefused = true;
      this.#log.error(`this role may not ${signal} it`, { ...known.fields, error });
      return;
    }
    if (signal === "cancel") {
      known.isCancelled = true;
      known.sinceMs = performance.now();
    } else known.isTerminated = true;
    this.#log.warn(signal === "cancel" ? "cancelled" : "terminated", known.fields);
  }

  /** Once: without the times it can do nothing, and a guard that does nothing must not look like one that has nothing to do. */
  #warnWhenHidden(holders: readonly Holder[]): void {
    if (this.#isHidden || !holders.some(({ ageMs }) => ageMs === null)) return;
    this.#isHidden = true;
    this.#log.error("other roles' transactions are hidden: grant pg_read_all_stats to the role that guards", {
      server: this.#server,
    });
  }
}
