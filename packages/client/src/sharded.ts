import { hash } from "node:crypto";
import type { PoolConfig } from "pg";
import { addressOf } from "./connection/address.ts";
import { expecting, show } from "./options/checks.ts";
import type { PgqueOptions } from "./options/client-options.ts";
import { refuse } from "./options/option.ts";
import { Pgque } from "./pgque.ts";

/** Several databases with the same queues, each key at home in one of them. */
export interface Shards extends AsyncDisposable {
  /** One for each database, by name and in their order: to ensure queues, or to run workers. */
  readonly all: ReadonlyMap<string, Pgque>;
  /**
   * The database of a key. The same in every process that has the same names, in any order.
   *
   * @throws PgqueError INVALID_OPTION: the key is no text
   */
  of(key: string): Pgque;
  /** Closes all. */
  close(): Promise<void>;
}

/**
 * Spreads keys over databases that have the same queues. A database that is added takes over its share of the keys, evenly from all others, and no other
 * key moves; the keys of one that is taken away are spread over the rest. By rendezvous hashing (Thaler and Ravishankar, 1998): SHA-256 of the name and
 * the key, the greatest wins. Nothing moves by itself: messages stay in the database that they were sent to.
 *
 * @param databases connection strings, each named by its host, port and database; or by names of your own, which stay when a database moves to another host
 * @throws PgqueError INVALID_OPTION
 * @example
 * const shards = sharded({ one: process.env["DATABASE_URL"], two: process.env["DATABASE_URL"] }); // two in earnest
 * await shards.of("customer-7").send(orders, { orderId: 42 });
 * await shards.close();
 */
export function sharded(
  databases: readonly string[] | Readonly<Record<string, string | PoolConfig | undefined>>,
  options: PgqueOptions = {},
): Shards {
  refuse("sharded", [databasesCheck("databases", databases)]);
  const named = Array.isArray(databases)
    ? Array.from(databases, (url: string) => [undefined, url] as const)
    : Object.entries(databases);
  const all = new Map<string, Pgque>();
  for (const [given, target] of named) {
    const pgque = new Pgque(target, options);
    const { host, port, database } = addressOf(pgque.pool);
    const name = given ?? `${host}:${port}/${database}`;
    refuse("sharded", [all.has(name) ? `expected different databases, got ${show(name)} twice` : undefined]);
    all.set(name, pgque);
  }
  return new SeveralShards(all);
}

class SeveralShards implements Shards {
  readonly all: ReadonlyMap<string, Pgque>;

  constructor(all: ReadonlyMap<string, Pgque>) {
    this.all = all;
  }

  of(key: string): Pgque {
    refuse("of", [keyCheck("key", key)]);
    let best: Pgque | undefined;
    let most = "";
    for (const [name, pgque] of this.all) {
      // as JSON, so that no end of a name passes for the beginning of a key
      const weight = hash("sha256", JSON.stringify([name, key]));
      if (weight > most) [best, most] = [pgque, weight];
    }
    return best as Pgque;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.all.values(), (pgque) => pgque.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const keyCheck = expecting<string>("a text", (value) => typeof value === "string");

const databasesCheck = expecting(
  "an array of connection strings, or an object that names databases, with one at least",
  (value) => typeof value === "object" && value !== null && Object.keys(value).length > 0,
);
