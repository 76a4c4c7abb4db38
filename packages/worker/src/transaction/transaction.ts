import { type Borrowed, isPgqueError, type Pgque, type Runtime, type Source } from "@pgque/client";
import type { PoolClient } from "pg";
import { within } from "../connection/answer.ts";
import type { Outcome } from "../execute/outcome.ts";
import { HandedOut } from "./handed-out.ts";

/** What it is about: for whom a transaction is begun, and what is told of it. */
export interface TransactionOptions {
  pgque: Pgque;
  source: Source;
  /** How long the database may take to answer what the worker itself asks here. */
  queryTimeoutMs: number;
  /** What a handler asks after its end. */
  onRefused: (error: Error) => void;
}

/**
 * The transaction of one call of a handler. Its connection goes back to the pool when all that was begun on it has ended, and is cut when that
 * takes too long or the call is given up. What was not committed is rolled back, by this worker or by the server.
 */
export class RunTransaction {
  readonly #borrowed: Borrowed;
  readonly #handedOut: HandedOut;
  readonly #options: TransactionOptions;
  #isOver = false;
  #isLost = false;

  private constructor(borrowed: Borrowed, options: TransactionOptions) {
    this.#borrowed = borrowed;
    this.#options = options;
    this.#handedOut = new HandedOut(borrowed.client, options.onRefused);
  }

  /**
   * On a connection that can write: one to what has become a standby is not for a handler.
   *
   * @throws PgqueError, when nobody has seen the transaction
   */
  static async begin(options: TransactionOptions, signal: AbortSignal): Promise<RunTransaction> {
    const borrowed = await options.pgque.runtime.borrow({ signal });
    try {
      await within(options.queryTimeoutMs, borrowed.client.query("begin read write"));
    } catch (error) {
      borrowed.destroy(error as Error);
      throw error;
    }
    return new RunTransaction(borrowed, options);
  }

  /** What the handler is given. */
  get tx(): PoolClient {
    return this.#handedOut.client;
  }

  /** Whether `commit` failed because the connection was lost: which says nothing of the handler. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The handler is over: what it left behind can do nothing here any more. */
  takeBack(): void {
    this.#handedOut.takeBack();
  }

  /**
   * Acks these messages and commits.
   *
   * @throws PgqueError LEASE_LOST when they are somebody else's by now, CONNECTION_LOST when it is not known whether it has committed
   */
  async commit(batchId: string, messages: readonly { id: string; outcome: Outcome }[]): Promise<void> {
    const { pgque, source } = this.#options;
    const isLostBefore = this.#borrowed.error !== undefined;
    let isAsked = false;
    try {
      await this.#end(() => {
        isAsked = true;
        return ackAndCommit(pgque.on(this.#borrowed.client).runtime.settler(source), batchId, messages);
      });
    } catch (error) {
      // before it was asked a connection without an answer is one that the handler left busy
      this.#isLost = isLostBefore || (isAsked && isPgqueError(error, "CONNECTION_LOST"));
      await this.rollback();
      throw error;
    }
    this.#giveBack();
  }

  /** Never rejects. */
  async rollback(): Promise<void> {
    await this.#end(() => this.#borrowed.client.query("rollback")).catch((error: unknown) =>
      this.destroy(error as Error),
    );
    this.#giveBack();
  }

  /** Cuts the connection, whatever runs on it and whether its other side is there or not. */
  destroy(error: Error): void {
    this.takeBack();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#borrowed.destroy(error);
  }

  async #end(work: () => Promise<unknown>): Promise<void> {
    this.takeBack();
    if (this.#borrowed.error !== undefined) throw this.#borrowed.error;
    const { queryTimeoutMs } = this.#options;
    try {
      await within(queryTimeoutMs, this.#handedOut.settled());
      await within(queryTimeoutMs, work());
    } catch (error) {
      // nothing else can be asked on a connection that answers no more
      if (isPgqueError(error, "CONNECTION_LOST")) this.destroy(error);
      throw error;
    }
  }

  #giveBack(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#borrowed.giveBack();
  }
}

/** In one round trip, unless somebody waits for a result. */
async function ackAndCommit(
  settler: ReturnType<Runtime["settler"]>,
  batchId: string,
  messages: readonly { id: string; outcome: Outcome }[],
): Promise<void> {
  const replies: { id: string; json: string | null }[] = [];
  const ids: string[] = [];
  for (const { id, outcome } of messages) {
    if (outcome.kind === "done" && outcome.reply !== undefined) replies.push({ id, json: outcome.reply });
    else ids.push(id);
  }
  if (replies.length > 0) await settler.ackWithJson(batchId, replies, { strict: true });
  await settler.ackAndCommit(batchId, ids);
}
