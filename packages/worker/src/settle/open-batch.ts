import type { Lease } from "../lease/lease.ts";
import type { Outcome } from "../execute/outcome.ts";

/** Outcomes in the words of `settle`, and who is acked. */
export interface Unsaid {
  done: string[];
  /** Done, with a result as JSON. */
  replies: { id: string; json: string | null }[];
  release: string[];
  retry: { id: string; afterMs: number; reason: string }[];
  snooze: { id: string; afterMs: number }[];
  dead: { id: string; reason: string }[];
}

/** A batch under way: which of its messages have an outcome, and which outcomes the database does not know yet. */
export class OpenBatch {
  readonly id: string;
  /** The name its lease is held under. */
  readonly worker: string;
  /** Settles what came before; whoever settles next waits for it. Never rejects. */
  settling: Promise<void> = Promise.resolve();
  /** Messages that are done and have stored steps, which need not be kept once it is settled. */
  readonly withSteps: string[] = [];
  /** How many messages it has. */
  readonly messages: number;
  /** By place in the batch: 1 for a message that has an outcome. Nearly all are done, and a Set or Map would cost each of them. */
  readonly #known: Uint8Array;
  #knownCount = 0;
  #unsaidDone: string[] = [];
  readonly #unsaidReplies = new Map<string, string | null>();
  readonly #unsaidOthers = new Map<string, Exclude<Outcome, { kind: "done" | "cancel" }>>();
  #unsaidSince = 0;
  readonly lease: Lease;

  constructor(id: string, worker: string, messages: number, lease: Lease) {
    this.id = id;
    this.worker = worker;
    this.messages = messages;
    this.lease = lease;
    this.#known = new Uint8Array(messages);
  }

  /** Whether its lease is over. */
  get isLost(): boolean {
    return this.lease.isOver;
  }

  /** Whether all messages have an outcome. */
  get isComplete(): boolean {
    return this.#knownCount === this.messages;
  }

  /** How long the oldest outcome that the database does not know has waited. */
  get unsaidForMs(): number {
    return this.isSaid ? 0 : performance.now() - this.#unsaidSince;
  }

  /** `place`: of the message in the batch, from 0, those that are invalid last. False: it has an outcome already, and that stands. */
  record(index: number, messageId: string, outcome: Outcome): boolean {
    if (this.#known[index] !== 0) return false;
    this.#known[index] = 1;
    this.#knownCount += 1;
    if (this.isSaid) this.#unsaidSince = performance.now();
    // what was cancelled is not to come again
    if (outcome.kind === "done" && outcome.reply !== undefined) this.#unsaidReplies.set(messageId, outcome.reply);
    else if (outcome.kind === "done" || outcome.kind === "cancel") this.#unsaidDone.push(messageId);
    else this.#unsaidOthers.set(messageId, outcome);
    return true;
  }

  /** The outcomes that are to be said, in the words of `settle`. */
  get unsaid(): Unsaid {
    const replies = Array.from(this.#unsaidReplies, ([id, json]) => ({ id, json }));
    const unsaid: Unsaid = { done: [...this.#unsaidDone], replies, release: [], retry: [], snooze: [], dead: [] };
    for (const [id, outcome] of this.#unsaidOthers) {
      if (outcome.kind === "release") unsaid.release.push(id);
      else if (outcome.kind === "retry") unsaid.retry.push({ id, afterMs: outcome.afterMs, reason: outcome.reason });
      else if (outcome.kind === "snooze") unsaid.snooze.push({ id, afterMs: outcome.afterMs });
      else unsaid.dead.push({ id, reason: outcome.reason });
    }
    return unsaid;
  }

  /** How many outcomes the database does not know. */
  get unsaidCount(): number {
    return this.#unsaidDone.length + this.#unsaidReplies.size + this.#unsaidOthers.size;
  }

  /** Whether the database knows every outcome. */
  get isSaid(): boolean {
    return this.unsaidCount === 0;
  }

  /** Whether the database knows the outcome of a message that has one. */
  isSaidOf(messageId: string): boolean {
    if (this.#unsaidOthers.has(messageId) || this.#unsaidReplies.has(messageId)) return false;
    return !this.#unsaidDone.includes(messageId);
  }

  /** The database knows these. */
  said(messageIds: readonly string[]): void {
    const said = new Set(messageIds);
    this.#unsaidDone = this.#unsaidDone.filter((id) => !said.has(id));
    for (const id of messageIds) {
      this.#unsaidReplies.delete(id);
      this.#unsaidOthers.delete(id);
    }
  }
}
