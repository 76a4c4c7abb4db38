import type { Logger } from "@pgque/worker";
import type { Client } from "pg";
import { findTransactions, type Holder } from "@pgque/client/horizon";
import { showDuration } from "../output/duration.ts";
import { exemptionOf, isTooOld, nextSignal, type Policy } from "./policy.ts";
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
  /** Transactions that were said to be left alone. */
  #spared = new Set<string>();
  /** Something that was due could not be done, for want of a right. */
  isPowerless = false;

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
    const seen = new Map<string, Case>();
    const spared = new Set<string>();
    for (const holder of holders) {
      const target = targetOf(holder);
      if (target === undefined || !isTooOld(holder, this.#policy)) continue;
      const key = keyOf(target);
      const because = exemptionOf(holder, this.#policy);
      if (because !== undefined) {
        spared.add(key);
        if (!this.#spared.has(key)) this.#log.info("left alone", { ...this.#fields(holder), because });
        continue;
      }
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
    this.#spared = spared;
    return this.#policy.signal === "terminate" && [...seen.values()].some((of) => !of.isTerminated && !of.isRefused);
  }

  /** How long nothing will be due, in milliseconds: the grace of the one that has waited longest. */
  get restMs(): number {
    const waiting = [...this.#cases.values()].filter((of) => !of.isTerminated && !of.isRefused);
    if (this.#policy.signal !== "terminate") return Infinity;
    const longest = Math.max(...waiting.map(({ sinceMs }) => performance.now() - sinceMs));
    return Math.max(0, this.#policy.graceMs - longest);
  }

  #fields({ name, details: { user, application, database } }: Holder): Case["fields"] {
    return { server: this.#server, pid: Number(name), user, application, database };
  }

  #open(holder: Holder): Case {
    const { ageMs, ageTransactions, isActive, details } = holder;
    const { state, query } = details;
    const fields = this.#fields(holder);
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
      this.isPowerless = true;
      this.#log.error(`this role may not ${signal} it`, { ...known.fields, error });
      return;
    }
    if (signal === "cancel") {
      known.isCancelled = true;
      known.sinceMs = performance.now();
    } else known.isTerminated = true;
    this.#log.warn(signal === "cancel" ? "cancelled" : "terminated", known.fields);
  }
}
