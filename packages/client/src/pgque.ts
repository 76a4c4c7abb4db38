import { Pool, type ClientBase, type PoolConfig } from "pg";
import { addressOf, isClient, isPool } from "./connection/address.ts";
import { call } from "./call/call.ts";
import type { ReplyOf, ReplyOptions } from "./call/reply-options.ts";
import { Replies } from "./call/replies.ts";
import { OwnClient } from "./connection/own-client.ts";
import { Connection, type ConnectionOptions } from "./connection/connection.ts";
import { PgqueError } from "./errors/errors.ts";
import type { Queryable } from "./connection/queryable.ts";
import { queryableOf, type Transaction } from "./adapters/in-transaction.ts";
import { Operations } from "./operations.ts";
import type { MessageTypes } from "./types.ts";
import type { SendArguments } from "./send/send-options.ts";
import type { QueueRef } from "./queue/define-queue.ts";
import { field } from "./options/field.ts";
import { clientOptions, type PgqueOptions } from "./options/client-options.ts";
import { integer, show } from "./options/checks.ts";
import { completed, problemsOf, refuse } from "./options/option.ts";
import { Schema } from "./connection/schema.ts";
import { isConnectionString } from "./redact/connection-string.ts";

/** A server that takes a connection and then never answers is given up after this; without a limit, attempts would fill the pool. */
const defaultConnectionTimeoutMs = 10_000;

/** A connection that is not given back by then is on its way to nowhere, or forgotten. */
const closeTimeoutMs = 10_000;

/** What can be done inside the caller's transaction. */
export type TransactionOperations = Pick<
  Operations,
  | "send"
  | "sendMany"
  | "sendStream"
  | "cancel"
  | "cancelByKey"
  | "result"
  | "receive"
  | "ack"
  | "ackStrict"
  | "ackWithResults"
  | "nack"
  | "snooze"
  | "bury"
  | "settle"
>;

/**
 * Queues in one schema of one database: the object that an application holds. Connects when it is first used.
 *
 * @example
 * const pgque = new Pgque(process.env.DATABASE_URL);
 */
export class Pgque extends Operations implements AsyncDisposable {
  /** Name of the schema, not quoted. */
  readonly schema: string;
  readonly #schema: Schema;
  readonly #connectionOptions: ConnectionOptions;
  readonly #queryable: Pool | ClientBase;
  readonly #ownsPool: boolean;
  readonly #db: Connection;
  #replies: Replies | undefined;
  #closed: Promise<void> | undefined;

  /**
   * @param target a connection string or the options of a pool, for a pool of its own that `close()` ends, and that waits
   *   ten seconds for a connection unless `connectionTimeoutMillis` says otherwise; or a pool or a connected client of
   *   the application, which is left alone. `{}` means the PG* variables of the environment
   * @throws PgqueError INVALID_OPTION
   */
  constructor(target: string | PoolConfig | Pool | ClientBase | undefined, options: PgqueOptions = {}) {
    refuse("new Pgque", [targetProblem(target), ...problemsOf(options, clientOptions)]);
    const queryable = isPool(target) || isClient(target) ? target : new Pool(poolConfig(target));
    const { schema: schemaName, prepare, retryForMs, callTimeoutMs } = completed(options, clientOptions);
    const schema = new Schema(schemaName);
    const connectionOptions = {
      prepare,
      retryForMs,
      callTimeoutMs,
      telemetry: options.telemetry?.(addressOf(queryable)),
    };
    const db = new Connection(queryable, schema, connectionOptions);
    super(db);
    this.#db = db;
    this.#connectionOptions = connectionOptions;
    this.#queryable = queryable;
    this.schema = schema.name;
    this.#schema = schema;
    this.#ownsPool = queryable !== target;
    // an idle connection that breaks is replaced at the next use; without a listener it would end the process
    if (this.#ownsPool) this.pool.on("error", () => undefined);
  }

  /**
   * The pool that statements run on.
   *
   * @throws PgqueError INVALID_OPTION when it was made with a client
   * @example
   * const { totalCount, idleCount } = pgque.pool;
   */
  get pool(): Pool {
    if (isPool(this.#queryable)) return this.#queryable;
    throw new PgqueError("INVALID_OPTION", "expected a Pgque with a pool, got one that was made with a client", {
      hint: "Workers need several connections: give `new Pgque` a pool or a connection string",
    });
  }

  /**
   * Sends a message, and waits for what its handler gives to `done`. Ends with its deadline at the latest. Listens on a connection of its own, which stays
   * for ten seconds after the last call; where notifications do not arrive, as behind a transaction pooler, it looks by itself, at first after 20 ms.
   *
   * @returns undefined when the handler gave nothing
   * @throws PgqueError as `send`; CALL_TIMEOUT; MESSAGE_DEAD; RESULT_INVALID; INVALID_OPTION in a transaction, whose message nobody could handle in time
   * @example
   * void Promise.all([1, 2]); // a worker elsewhere: new Worker(pgque, reports, () => done({ rows: 3 }))
   * const report = pgque.call(reports, { kind: "daily" }, { waitMs: 50, result: z.object({ rows: z.number() }) });
   * await report.catch((error) => console.log(isPgqueError(error, "CALL_TIMEOUT"))); // here there is none
   */
  async call<Types extends MessageTypes, Type extends keyof Types & string, Options extends ReplyOptions>(
    queue: QueueRef<Types>,
    payload: NoInfer<Types[Type]["input"]>,
    ...optionsWithType: SendArguments<Types, Type, Options & ReplyOptions>
  ): Promise<ReplyOf<Options>> {
    if (!isPool(this.#queryable))
      throw new PgqueError(
        "INVALID_OPTION",
        "call: expected a Pgque with a pool, got one that was made with a client",
        {
          hint: "The client may be in a transaction, in which nobody sees the message: give `new Pgque` a pool or a connection string",
        },
      );
    this.#replies ??= new Replies(this.#queryable.options);
    return (await call(this.#db, this.#replies, queue, payload, optionsWithType[0])) as ReplyOf<Options>;
  }

  /**
   * The same operations on a connection of the caller's to the same database: a `pg` client, or anything that runs statements like one.
   *
   * @example
   * const client = await pgque.pool.connect();
   * await pgque.on(client).send(orders, { orderId: 42 });
   * client.release();
   */
  on(queryable: Queryable): Operations {
    refuse("on", [
      typeof field(queryable, "query") === "function"
        ? undefined
        : `expected \`queryable\` to be a client of \`pg\`, or something with a \`query\` like its own, got: ${show(queryable)}`,
    ]);
    return new Operations(new Connection(queryable, this.#schema, this.#connectionOptions));
  }

  /**
   * Inside the caller's transaction: what is sent is there if and only if it commits, and an ack takes effect with it. Nothing of the
   * transaction is begun, committed or rolled back here; it stays the caller's.
   *
   * @param tx what the application's library hands out for an open transaction: the `pg` client that holds it, or the `tx` of postgres.js,
   *   drizzle, kysely, knex or prisma. Of another library: an object whose `query` answers as that of `pg` does
   * @throws PgqueError INVALID_OPTION for a pool or the root object of a library, whose statements would run outside of any transaction
   * @example
   * await tx.query("insert into shop_order values (44)");
   * await pgque.inTransaction(tx).send(orders, { orderId: 44 }); // sent if and only if the transaction commits
   */
  inTransaction(tx: Transaction): TransactionOperations {
    return Object.assign(this.on(queryableOf(tx)), { call: refuseCall });
  }

  /**
   * Ends its own pool once its connections are given back; a pool of the application is left alone. Any number of times.
   *
   * @param options `timeoutMs`: after so many milliseconds the connections that were not given back are cut, and what runs on them fails.
   *   0 to 86400000 (a day). Default: 10000
   * @example
   * const short = new Pgque(process.env["DATABASE_URL"]);
   * await short.close(); // or `await using short = new Pgque(…)`
   */
  async close(options: { timeoutMs?: number | undefined } = {}): Promise<void> {
    refuse("close", problemsOf(options, { timeoutMs: integer(0, 86_400_000) }));
    this.#replies?.close();
    if (!this.#ownsPool) return;
    this.#closed ??= this.pool.ending ? Promise.resolve() : this.pool.end();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(resolve, options.timeoutMs ?? closeTimeoutMs, "late");
    });
    const end = await Promise.race([this.#closed, late]);
    clearTimeout(timer);
    if (end === "late") OwnClient.destroyAll(this.pool.options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Not in the types: for JavaScript, and for who casts. */
async function refuseCall(): Promise<never> {
  throw new PgqueError("INVALID_OPTION", "call: expected to be outside of a transaction, got one inside", {
    hint: "Nobody sees the message before the transaction has committed. Send in it, commit, and then read `result`",
  });
}

function poolConfig(target: string | PoolConfig | undefined): PoolConfig {
  const config = typeof target === "string" ? { connectionString: target } : target;
  return {
    fallback_application_name: "pgque",
    connectionTimeoutMillis: defaultConnectionTimeoutMs,
    keepAlive: true,
    Client: OwnClient,
    ...config,
  };
}

function targetProblem(target: unknown): string | undefined {
  const what = "expected `target` to be a connection string, the options of a pool, a pg.Pool or a pg.Client";
  if (target === undefined || target === "") {
    return `${what}, got: ${show(target)}. Is the environment variable set? For the PG* variables use {}`;
  }
  const isObject = typeof target === "object" && target !== null;
  if (typeof target !== "string" && !isObject) return `${what}, got: ${show(target)}`;
  const string = isObject ? field(target, "connectionString") : target;
  if (typeof string !== "string" || string === "" || isConnectionString(string)) return undefined;
  // what is not understood may have its password anywhere, so nothing of it is shown
  return (
    "expected the connection string to be of the form postgres://user:password@host:5432/database, with special characters in user and password " +
    "percent-encoded, got one of another form"
  );
}
