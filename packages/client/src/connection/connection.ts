import { createHash } from "node:crypto";
import { databaseError } from "../errors/database-error.ts";
import { isPgqueError } from "../errors/errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Executor, Statement } from "../transaction/executor.ts";
import type { WaitingStatement } from "../transaction/in-turn.ts";
import { abortableQuery, untilAborted } from "./abortable.ts";
import { addressOf, isPool } from "./address.ts";
import { mayRepeat, repeating } from "./repeat.ts";
import type { Schema } from "./schema.ts";

/** A row as it comes from the database. */
export type Row = Record<string, unknown>;

/** What is to be known of a statement beside its text. */
export interface Call {
  /** Whom it is about, for the error of a failure. */
  queue?: string;
  consumer?: string;
  /** Whether running it twice is as good as running it once: then it is run again also when it is not known whether it took effect. */
  repeatable?: boolean;
  signal?: AbortSignal | undefined;
}

/** How statements are run. */
export interface ConnectionOptions {
  /** Whether statements are prepared under a name. */
  prepare: boolean;
  /** How long a statement of a pool is tried again after failures that pass. */
  retryForMs: number;
  telemetry?: Telemetry | undefined;
}

/** An executor and the schema it is to use: runs the statements of functions/ and explains their failures. */
export class Connection {
  readonly #executor: Executor;
  readonly #schema: Schema;
  readonly #options: ConnectionOptions;

  constructor(executor: Executor, schema: Schema, options: ConnectionOptions) {
    this.#executor = executor;
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

  /** Whether each statement is a transaction of its own, and not a part of the caller's. */
  get commitsEachStatement(): boolean {
    return isPool(this.#executor);
  }

  /** The rows of a statement. `text` is given the schema's quoted name. */
  async rows(text: (schema: string) => string, values: unknown[], call: Call = {}): Promise<Row[]> {
    const { repeatable = false, signal } = call;
    signal?.throwIfAborted();
    // a first connection that fails is more likely a wrong address than a failover
    const again = (error: unknown): boolean =>
      this.commitsEachStatement && this.#schema.wasFound && mayRepeat(error, repeatable);
    return repeating(() => this.#run(text, values, call), this.#options.retryForMs, again, signal);
  }

  /** The only column of the only row. */
  async value(text: (schema: string) => string, values: unknown[], call: Call = {}): Promise<unknown> {
    const [row] = await this.rows(text, values, call);
    return row && Object.values(row)[0];
  }

  #query(statement: Statement, signal: AbortSignal | undefined): ReturnType<Executor["query"]> {
    if (signal === undefined) return this.#executor.query(statement);
    if (isPool(this.#executor)) return abortableQuery(this.#executor, statement, signal);
    const waiting: WaitingStatement = { ...statement, signal };
    return this.#executor.query(waiting);
  }

  async #run(text: (schema: string) => string, values: unknown[], { signal, queue, consumer }: Call): Promise<Row[]> {
    try {
      const statement: Statement = {
        text: text(await untilAborted(this.#schema.quoted(this.#executor), signal)),
        values,
      };
      if (this.#options.prepare) statement.name = statementName(statement.text);
      const { rows } = await this.#query(statement, signal);
      return rows;
    } catch (cause) {
      if (signal?.aborted && cause === signal.reason) throw cause;
      const error = databaseError(cause, {
        address: addressOf(this.#executor),
        schema: this.#schema.name,
        ...(queue !== undefined && { queue }),
        ...(consumer !== undefined && { consumer }),
      });
      if (isPgqueError(error, "SCHEMA_NOT_INSTALLED")) this.#schema.forget();
      throw error;
    }
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
