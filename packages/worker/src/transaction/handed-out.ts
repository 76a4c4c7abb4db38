import { PgqueError } from "@pgque/client";
import type { PoolClient } from "pg";

/** What a handler is not to do to a connection that is lent to it. */
const lenders = new Set<PropertyKey>(["release", "end", "connect"]);

/** What is read of a connection by who takes it for the options of another: a library that makes connections of its own. */
const options = new Set<PropertyKey>(["connectionParameters", "password"]);

/**
 * A connection as a handler is given it: whatever library it is put into, what it does is done on the connection, until that is taken back.
 * From then on all that is asked of it is refused. What was asked before is known, so that nobody else has the connection while it goes on.
 */
export class HandedOut {
  readonly client: PoolClient;
  readonly #of: PoolClient;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #onRefused: (error: Error) => void;
  #isTakenBack = false;

  /** `onRefused` is told of what is asked too late: whoever asked may not hear of it. */
  constructor(of: PoolClient, onRefused: (error: Error) => void) {
    this.#of = of;
    this.#onRefused = onRefused;
    this.client = new Proxy(of, { get: (_, name) => this.#get(name) });
  }

  takeBack(): void {
    this.#isTakenBack = true;
  }

  /** Resolves when nothing that was asked is under way. Never rejects. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #get(name: PropertyKey): unknown {
    if (options.has(name))
      throw new PgqueError(
        "INVALID_OPTION",
        "expected the transaction of a handler to be used as a connection of pg, it was read as the address of a database",
        {
          hint: "Libraries that only make connections of their own, as prisma and postgres.js do, cannot work in it: see docs/transactions.md",
        },
      );
    const value: unknown = Reflect.get(this.#of, name, this.#of);
    if (typeof value !== "function") return value;
    if (name === "query") return this.#query;
    return (...args: unknown[]): unknown => {
      if (lenders.has(name))
        throw new PgqueError(
          "INVALID_OPTION",
          `expected a handler to leave \`${String(name)}\` of its transaction to the worker`,
        );
      if (this.#isTakenBack) throw this.#refusal();
      const result: unknown = Reflect.apply(value, this.#of, args);
      return result === this.#of ? this.client : result;
    };
  }

  readonly #query = (...args: unknown[]): unknown => {
    const told: unknown = args.at(-1);
    if (this.#isTakenBack) return refused(this.#refusal(), args[0], told);
    if (typeof told === "function") args[args.length - 1] = this.#follow(told as (...result: unknown[]) => void);
    const result = (this.#of as { query(...asked: unknown[]): unknown }).query(...args);
    if (result instanceof Promise) this.#add(result);
    return result;
  };

  /** A callback that ends what it belongs to. */
  #follow(told: (...result: unknown[]) => void): (...result: unknown[]) => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#add(promise);
    return (...result) => {
      resolve();
      told(...result);
    };
  }

  #add(work: Promise<unknown>): void {
    // whoever asked hears of a failure
    const over: Promise<unknown> = work.catch(() => undefined).then(() => this.#underWay.delete(over));
    this.#underWay.add(over);
  }

  #refusal(): PgqueError {
    const error = new PgqueError("CLOSED", "expected the handler to run, it is over, and so is its transaction", {
      hint: "A handler has to wait for all that it begins: of `Promise.all` the others go on when one fails",
    });
    this.#onRefused(error);
    return error;
  }
}

/** As `pg` tells a failure: to a callback, by a promise, or to what submits itself. */
function refused(error: Error, asked: unknown, told: unknown): unknown {
  if (typeof told === "function") return process.nextTick(() => Reflect.apply(told, undefined, [error]));
  if (typeof (asked as { submit?: unknown } | null)?.submit === "function") throw error;
  return Promise.reject(error);
}
