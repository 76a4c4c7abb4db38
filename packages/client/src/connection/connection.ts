import { createHash } from "node:crypto";
import { databaseError, type Failed } from "../errors/database-error.ts";
import { isPgqueError, PgqueError } from "../errors/errors.ts";
import type { clientOptions } from "../options/client-options.ts";
import type { DefaultsOf } from "../options/option.ts";
import { called, type Arguments } from "../queries/values.ts";
import type { Telemetry } from "../types.ts";
import type { Queryable, Statement } from "./queryable.ts";
import type { WaitingStatement } from "../adapters/serialize.ts";
import { Unanswered, untilAborted } from "./abortable.ts";
import { addressOf, isPool } from "./address.ts";
import { Borrowed, NotConnected } from "./borrowed.ts";
import { inSuitableTransaction } from "./own-transaction.ts";
import { keepsStatements, wasNotKept } from "./prepared.ts";
import { mayRetry, retrying } from "./retry.ts";
import type { Schema } from "./schema.ts";
import { TimeLimit } from "./time-limit.ts";

/** A row as it comes from the database. */
export type Row = Record<string, unknown>;

/** What is to be known of a statement beside its text. */
export interface Call {
  /** Whom it is about, for the error of a failure. */
  queue?: string | null | undefined;
  consumer?: string | null | undefined;
  /** Whether running it twice is as good as running it once: then it is run again also when it is not known whether it took effect. */
  idempotent?: boolean;
  signal?: AbortSignal | undefined;
}

/** How statements are run. */
export interface ConnectionOptions extends Omit<DefaultsOf<typeof clientOptions>, "schema"> {
  prepare?: boolean | undefined;
  telemetry?: Telemetry | undefined;
}

/** A queryable and the schema it is to use: runs the statements of queries/ and explains their failures. */
export class Connection {
  readonly #queryable: Queryable;
  readonly #schema: Schema;
  readonly #options: ConnectionOptions;

  constructor(queryable: Queryable, schema: Schema, options: ConnectionOptions) {
    this.#queryable = queryable;
    this.#schema = schema;
    this.#options = options;
  }

  /** What watches the calls, if anything does. */
  get telemetry(): Telemetry | undefined {
    return this.#options.telemetry;
  }

  /** How long a statement of a pool is tried again. */
  get retryForMs(): number {
    return this.#options.retryForMs;
  }

  /** How long a call may take. */
  get callTimeoutMs(): number {
    return this.#options.callTimeoutMs;
  }

  /** Whether each statement is a transaction of its own, and not a part of the caller's. */
  get commitsEachStatement(): boolean {
    return isPool(this.#queryable);
  }

  /** The rows of a statement. `text` is given the schema's quoted name. */
  async rows(text: (schema: string) => string, values: unknown[], call: Call = {}): Promise<Row[]> {
    const { idempotent = false, signal } = call;
    signal?.throwIfAborted();
    // a first connection that fails is more likely a wrong address than a failover
    const again = (error: unknown): boolean =>
      this.commitsEachStatement && this.#schema.wasFound && mayRetry(error, idempotent);
    const limit = new TimeLimit(this.#options.callTimeoutMs, signal);
    try {
      return await retrying(() => this.#run(text, values, call, limit), this.#options.retryForMs, again, limit);
    } finally {
      limit.end();
    }
  }

  /**
   * Takes a connection out of the pool.
   *
   * @throws PgqueError DATABASE_UNREACHABLE, ACCESS_DENIED, CLOSED; INVALID_OPTION when there is no pool
   */
  async borrow(signal?: AbortSignal): Promise<Borrowed> {
    if (!isPool(this.#queryable))
      throw new PgqueError("INVALID_OPTION", "expected a Pgque with a pool, got one without");
    try {
      return await Borrowed.take(this.#queryable, signal);
    } catch (cause) {
      const why = (cause as NotConnected).cause;
      throw signal?.aborted && why === signal.reason ? why : this.#explained(why, { connecting: true });
    }
  }

  /** Several statements without parameters, in one round trip. */
  async script(text: (schema: string) => string): Promise<void> {
    const limit = new TimeLimit(this.#options.callTimeoutMs, undefined);
    try {
      await this.#run(text, undefined, {}, limit);
    } finally {
      limit.end();
    }
  }

  /** What a function of the schema returns, as text: see `called` for its arguments. */
  async value(name: string, args: Arguments, call: Call = {}): Promise<unknown> {
    const [text, values] = called(name, args);
    const [row] = await this.rows((schema) => `select ${text(schema)}::text as value`, values, call);
    return row && Object.values(row)[0];
  }

  /** The same as a number. */
  async count(name: string, args: Arguments, call?: Call): Promise<number> {
    return Number(await this.value(name, args, call));
  }

  /** The same of what is yes or no, as 1 and 0 or as a boolean in words. */
  async flag(name: string, args: Arguments, call?: Call): Promise<boolean> {
    const value = await this.value(name, args, call);
    return value === "true" || value === "1";
  }

  #query(statement: Statement, limit: TimeLimit): ReturnType<Queryable["query"]> {
    const { signal } = limit;
    if (isPool(this.#queryable)) return inSuitableTransaction(this.#queryable, statement, signal);
    const waiting: WaitingStatement = { ...statement, signal };
    return limit.untilOver(this.#queryable.query(waiting));
  }

  async #run(
    text: (schema: string) => string,
    values: unknown[] | undefined,
    { queue, consumer }: Call,
    limit: TimeLimit,
  ): Promise<Row[]> {
    const { signal } = limit;
    let isSent = false;
    try {
      const schema = this.#schema.known ?? (await untilAborted(this.#lookForSchema(), signal));
      const statement: Statement = { text: text(schema), ...(values && { values }) };
      if (values && (await this.#prepares(signal))) statement.name = statementName(statement.text);
      isSent = true;
      const { rows } = await this.#query(statement, limit);
      return rows;
    } catch (thrown) {
      const connecting = thrown instanceof NotConnected;
      const cause = connecting ? thrown.cause : thrown;
      if (thrown instanceof Unanswered && !limit.isOver)
        throw new PgqueError(
          "CONNECTION_LOST",
          "the call was given up, and the database has not said that it was cancelled",
          {
            hint: "Whether it took effect is not known",
            cause: thrown.cause,
          },
        );
      if (signal.aborted && (cause === signal.reason || thrown instanceof Unanswered))
        throw limit.isOver ? limit.errorOf(connecting || !isSent ? "DATABASE_UNREACHABLE" : "CONNECTION_LOST") : cause;
      if (this.#options.prepare === undefined && isPool(this.#queryable) && wasNotKept(this.#queryable, cause))
        return this.#run(text, values, { queue, consumer }, limit);
      const error = this.#explained(cause, {
        connecting,
        ...(typeof queue === "string" && { queue }),
        ...(typeof consumer === "string" && { consumer }),
      });
      if (isPgqueError(error, "SCHEMA_NOT_INSTALLED")) this.#schema.forget();
      throw error;
    }
  }

  /** In the caller's transaction only when it is asked for: a statement that is not there any more would break it. */
  async #prepares(signal: AbortSignal): Promise<boolean> {
    const { prepare } = this.#options;
    return prepare ?? (isPool(this.#queryable) && keepsStatements(this.#queryable, signal));
  }

  /** It is shared by all who wait for it, so no signal of a caller ends it. */
  #lookForSchema(): Promise<string> {
    return this.#schema.quoted(this.#queryable, async (statement) => {
      const limit = new TimeLimit(this.#options.callTimeoutMs, undefined);
      try {
        return await this.#query(statement, limit);
      } catch (error) {
        throw limit.isOver ? limit.errorOf("DATABASE_UNREACHABLE") : error;
      } finally {
        limit.end();
      }
    });
  }

  #explained(cause: unknown, about: Omit<Failed, "address" | "schema">): unknown {
    return databaseError(cause, { address: addressOf(this.#queryable), schema: this.#schema.name, ...about });
  }
}

const statementNames = new Map<string, string>();

/** One name for one text: an application may use several schemas on one connection. */
function statementName(text: string): string {
  let name = statementNames.get(text);
  if (name === undefined) {
    name = `pgque_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
    statementNames.set(text, name);
  }
  return name;
}
