import { defaultSchema } from "@pgque/sql";
import { Client, Pool, type PoolConfig } from "pg";
import { isPool } from "./address.ts";
import { Connection } from "./connection.ts";
import type { Executor } from "./executor.ts";
import { Operations } from "./operations.ts";
import { boolean, problemsOf, refuse, show, text, type Check } from "./options.ts";
import { Schema } from "./schema.ts";

export interface PgqueOptions {
  /** Name of the schema that `pgque install` was given. Default: `pgque`. */
  schema?: string | undefined;
  /**
   * Prepare each statement once per connection, which saves the server from parsing it again. Only for direct connections: behind a
   * pooler that changes them between transactions, the statement is not there the next time. Default: false.
   */
  prepare?: boolean | undefined;
}

const optionChecks: Record<keyof PgqueOptions, Check> = { schema: text, prepare: boolean };

/** What can be done inside the caller's transaction. */
export type TransactionOperations = Pick<
  Operations,
  "send" | "sendMany" | "receive" | "ack" | "ackStrict" | "nack" | "settle"
>;

/**
 * Queues in one schema of one database: the object that an application holds. Connects when it is first used.
 *
 * @example
 * const pgque = new Pgque(process.env.DATABASE_URL);
 */
export class Pgque extends Operations implements AsyncDisposable {
  /** The pool that statements run on. */
  readonly pool: Pool;
  /** Name of the schema, not quoted. */
  readonly schema: string;
  readonly #schema: Schema;
  readonly #prepare: boolean;
  readonly #ownsPool: boolean;
  #closed: Promise<void> | undefined;

  /**
   * @param target a connection string or the options of a pool, for a pool of its own that `close()` ends; or a pool of the
   *   application, which is left alone. `{}` means the PG* variables of the environment
   * @throws PgqueError INVALID_OPTION
   */
  constructor(target: string | PoolConfig | Pool | undefined, options: PgqueOptions = {}) {
    refuse("new Pgque", [targetProblem(target), ...problemsOf(options, optionChecks)]);
    const pool = isPool(target) ? target : new Pool(poolConfig(target));
    const schema = new Schema(options.schema ?? defaultSchema);
    const prepare = options.prepare ?? false;
    super(new Connection(pool, schema, prepare));
    this.#prepare = prepare;
    this.pool = pool;
    this.schema = schema.name;
    this.#schema = schema;
    this.#ownsPool = pool !== target;
    // an idle connection that breaks is replaced at the next use; without a listener it would end the process
    if (this.#ownsPool) pool.on("error", () => undefined);
  }

  /**
   * The same operations on a connection of the caller's to the same database: a `pg` client, or anything that runs statements like one.
   */
  on(executor: Executor): Operations {
    return new Operations(new Connection(executor, this.#schema, this.#prepare));
  }

  /**
   * Inside the caller's transaction: what is sent is there if and only if it commits, and an ack takes effect with it.
   *
   * @param tx the `pg` client that holds the transaction
   * @throws PgqueError INVALID_OPTION for a pool, whose statements would run outside of any transaction
   */
  using(tx: Executor): TransactionOperations {
    refuse("using", [
      isPool(tx) ? "expected the client that holds the transaction, got a pool: use `await pool.connect()`" : undefined,
    ]);
    return this.on(tx);
  }

  /** Ends its own pool once its connections are given back; a pool of the application is left alone. Any number of times. */
  async close(): Promise<void> {
    if (!this.#ownsPool) return;
    this.#closed ??= this.pool.end();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function poolConfig(target: string | PoolConfig | undefined): PoolConfig {
  const config = typeof target === "string" ? { connectionString: target } : target;
  return { fallback_application_name: "pgque", ...config };
}

function targetProblem(target: unknown): string | undefined {
  const what = "expected `target` to be a connection string, the options of a pool, or a pg.Pool";
  if (target === undefined || target === "") {
    return `${what}, got: ${show(target)}. Is the environment variable set? For the PG* variables use {}`;
  }
  if (target instanceof Client) return `${what}, got a client: use \`pgque.on(client)\` or \`pgque.using(client)\``;
  return typeof target === "string" || (typeof target === "object" && target !== null)
    ? undefined
    : `${what}, got: ${show(target)}`;
}
