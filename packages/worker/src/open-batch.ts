import type { Retry } from "@pgque/client";

/** What became of a message. */
export type Outcome = { kind: "done" } | { kind: "release" } | { kind: "retry"; afterMs: number; reason: string };

/** A batch under way: which of its messages have an outcome, and which outcomes the database does not know yet. */
export class OpenBatch {
  readonly id: bigint;
  /** The name its lease is held under. */
  readonly worker: string;
  /** Settles what came before; whoever settles next waits for it. Never rejects. */
  settling: Promise<void> = Promise.resolve();
  readonly #messages: number;
  readonly #known = new Set<bigint>();
  #unsaid = new Map<bigint, Outcome>();
  #unsaidSince = 0;

  constructor(id: bigint, worker: string, messages: number) {
    this.id = id;
    this.worker = worker;
    this.#messages = messages;
  }

  /** Whether all messages have an outcome. */
  get isComplete(): boolean {
    return this.#known.size === this.#messages;
  }

  /** How long the oldest outcome that the database does not know has waited. */
  get unsaidForMs(): number {
    return this.#unsaid.size === 0 ? 0 : performance.now() - this.#unsaidSince;
  }

  /** False: the message has an outcome already, and that stands. */
  record(messageId: bigint, outcome: Outcome): boolean {
    if (this.#known.has(messageId)) return false;
    this.#known.add(messageId);
    if (this.#unsaid.size === 0) this.#unsaidSince = performance.now();
    this.#unsaid.set(messageId, outcome);
    return true;
  }

  /** The outcomes that are to be said, in the words of `settle`. */
  get unsaid(): { done: bigint[]; release: bigint[]; retry: Retry[] } {
    const done: bigint[] = [];
    const release: bigint[] = [];
    const retry: Retry[] = [];
    for (const [id, outcome] of this.#unsaid) {
      if (outcome.kind === "done") done.push(id);
      else if (outcome.kind === "release") release.push(id);
      else retry.push({ id, afterMs: outcome.afterMs, reason: outcome.reason });
    }
    return { done, release, retry };
  }

  /** The database knows these. */
  said(messageIds: readonly bigint[]): void {
    for (const id of messageIds) this.#unsaid.delete(id);
  }
}
