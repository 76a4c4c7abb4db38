import { randomBytes } from "node:crypto";
import { install, quoteIdentifier, type SqlClient } from "@pgque/sql";
import type { ClientBase, Pool, PoolConfig } from "pg";
import { isClient } from "../connection/address.ts";
import { Connection } from "../connection/connection.ts";
import { Schema } from "../connection/schema.ts";
import { purgeAll } from "../queries/testing.ts";
import type { PgqueOptions } from "../options/client-options.ts";
import { Pgque } from "../pgque.ts";
import { queueOf, type QueueRef } from "../queue/define-queue.ts";
import type { MessageTypes } from "../types.ts";
import type { Queryable } from "../connection/queryable.ts";
import { queryableOf } from "../adapters/in-transaction.ts";
import { field } from "../options/field.ts";
import { object } from "../options/checks.ts";
import { callProblems, refuse } from "../options/option.ts";
import { readSent, sentChecks, type SentMessageOf, type SentOptions } from "./sent.ts";

/** The schema has a random name; the rest as for `new Pgque`. */
export type TestPgqueOptions = Omit<PgqueOptions, "schema">;

const statementOptions = { prepare: false, retryForMs: 0, callTimeoutMs: 60_000 };

/**
 * Installs Pgque into a fresh schema of a database, for one test file or one test. Any number of them share a database and do not meet. No
 * roles are created. `drop()` removes it, as does `await using`.
 *
 * @param target as for `new Pgque`. A client of the application must not be in a transaction
 * @throws PgqueError INVALID_OPTION; what Postgres says when the role may not create a schema
 * @example
 * await using test = await testPgque(process.env.DATABASE_URL);
 * await test.pgque.ensure(orders);
 * await checkout(test.pgque);
 * expect(await test.sent(orders)).toMatchObject([{ payload: { orderId: 42 } }]);
 */
export async function testPgque(
  target: string | PoolConfig | Pool | ClientBase | undefined,
  options: TestPgqueOptions = {},
): Promise<TestPgque> {
  refuse("testPgque", [
    object("options", options),
    field(options, "schema") !== undefined
      ? "expected no `schema`: its name is random. Use `new Pgque` for one that is there"
      : undefined,
  ]);
  const schema = randomSchema();
  const pgque = new Pgque(target, { ...options, schema });
  const queryable = isClient(target) ? target : pgque.pool;
  try {
    await onOneConnection(queryable, (client) => install(client, { schema }));
  } catch (error) {
    await pgque.close();
    throw error;
  }
  return new TestPgque(pgque, queryable);
}

/** A Pgque in a schema of its own. */
export class TestPgque implements AsyncDisposable {
  /** For the code under test. */
  readonly pgque: Pgque;
  /** Name of the schema, not quoted. */
  readonly schema: string;
  readonly #queryable: Pool | ClientBase;
  readonly #checked: Schema;
  /** The last message that each queue had when it was cleared: it is in its tables for a while. */
  #cleared: ReadonlyMap<string, string> = new Map();
  #dropped: Promise<void> | undefined;

  constructor(pgque: Pgque, queryable: Pool | ClientBase) {
    this.pgque = pgque;
    this.schema = pgque.schema;
    this.#queryable = queryable;
    this.#checked = new Schema(pgque.schema);
  }

  /**
   * Everything that was sent to a queue since it was created or cleared, delayed messages too, in the order in which it was sent, whether
   * it was received or not. What every consumer is done with goes when rotation truncates it, ten minutes later at the earliest unless the
   * queue was made with less.
   *
   * @throws PgqueError QUEUE_NOT_FOUND, INVALID_OPTION; PAYLOAD_INVALID or PAYLOAD_NOT_JSON for a message that does not fit the queue
   * @example
   * await using test = await testPgque(process.env["DATABASE_URL"]);
   * await test.pgque.ensure(orders);
   * await test.pgque.send(orders, { orderId: 42 }, { delayMs: 60_000 });
   * const [{ payload, dueAt } = {}] = await test.sent(orders);
   */
  async sent<Types extends MessageTypes, Type extends keyof Types & string = keyof Types & string>(
    queue: QueueRef<Types>,
    options: SentOptions<Type> = {},
  ): Promise<SentMessageOf<Types, Type>[]> {
    refuse("sent", callProblems(options, sentChecks));
    const known = queueOf("sent", queue);
    const db = this.#on(options.transaction === undefined ? this.#queryable : queryableOf(options.transaction));
    const messages = await readSent(db, known, this.#cleared.get(known.name) ?? "0", options);
    // what was read is what the schemas of the queue say, which is what Types stands for
    return messages as unknown as SentMessageOf<Types, Type>[];
  }

  /**
   * Empties all queues for the next test: messages, open batches, what is delayed, dead letters, dedupe keys. Queues, consumers and schedules
   * stay. What transactions that are still open have sent is not seen; end them first.
   *
   * @throws PgqueError INVALID_ARGUMENT when a transaction that has sent to a queue without consumers is open
   * @example
   * await using test = await testPgque(process.env["DATABASE_URL"]);
   * await test.clear(); // before each test
   */
  async clear(): Promise<void> {
    this.#cleared = await purgeAll(this.#on(this.#queryable), this.schema);
  }

  /**
   * Drops the schema with all that is in it, and closes the pool if it is Pgque's own. Stop workers first. Any number of times; what failed
   * can be tried again.
   *
   * @example
   * const test = await testPgque(process.env["DATABASE_URL"]);
   * await test.drop(); // after all of them
   */
  drop(): Promise<void> {
    this.#dropped ??= this.#drop().catch((error: unknown) => {
      this.#dropped = undefined;
      throw error;
    });
    return this.#dropped;
  }

  async #drop(): Promise<void> {
    await onOneConnection(this.#queryable, async (client) => {
      await client.query(`drop schema if exists ${await quoteIdentifier(client, this.schema)} cascade`);
    });
    await this.pgque.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drop();
  }

  #on(queryable: Queryable): Connection {
    return new Connection(queryable, this.#checked, statementOptions);
  }
}

/** So long that there is no room for the names of its roles, which are the cluster's and would stay behind: the schema does without them. */
function randomSchema(): string {
  return `pgque_test_${randomBytes(24).toString("hex")}`;
}

async function onOneConnection(
  queryable: Pool | ClientBase,
  work: (client: SqlClient) => Promise<unknown>,
): Promise<void> {
  const borrowed = isClient(queryable) ? undefined : await queryable.connect();
  try {
    await work(borrowed ?? queryable);
  } catch (error) {
    // it may be broken
    borrowed?.release(true);
    throw error;
  }
  borrowed?.release();
}
