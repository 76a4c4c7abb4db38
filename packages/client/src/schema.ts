import { installedVersion, quoteIdentifier, schemaVersion, type SqlClient } from "@pgque/sql";
import { addressOf, showAddress } from "./address.ts";
import { installCommand, notInstalled } from "./database-error.ts";
import { PgqueError } from "./errors.ts";
import type { Executor } from "./executor.ts";

/** The schema that the SQL functions are in: looked for and checked once, at first use. */
export class Schema {
  readonly name: string;
  #quoted: string | undefined;
  // one check at a time per connection; to wait for another connection's could wait for a lock that the waiter holds
  readonly #checks = new WeakMap<Executor, Promise<string>>();

  constructor(name: string) {
    this.name = name;
  }

  /**
   * The schema's name as the server quotes it.
   *
   * @throws PgqueError SCHEMA_NOT_INSTALLED, SCHEMA_VERSION
   */
  async quoted(executor: Executor): Promise<string> {
    if (this.#quoted !== undefined) return this.#quoted;
    let check = this.#checks.get(executor);
    if (check === undefined) {
      check = this.#check(executor).finally(() => this.#checks.delete(executor));
      this.#checks.set(executor, check);
    }
    return check;
  }

  /** Looks again at the next use: something that was there is not any more. */
  forget(): void {
    this.#quoted = undefined;
  }

  async #check(executor: Executor): Promise<string> {
    const client: SqlClient = {
      query: (text, values = []) => executor.query({ text, values }),
    };
    const found = await installedVersion(client, { schema: this.name });
    if (found === null) {
      const address = addressOf(executor);
      throw notInstalled(showAddress(address), this.name, { ...address, schema: this.name });
    }
    if (!serves(found, schemaVersion)) throw this.#otherVersion(executor, found);
    this.#quoted = await quoteIdentifier(client, this.name);
    return this.#quoted;
  }

  #otherVersion(executor: Executor, found: string): PgqueError {
    const older = compare(numbers(found), numbers(schemaVersion)) < 0;
    const address = addressOf(executor);
    return new PgqueError(
      "SCHEMA_VERSION",
      `expected schema ${JSON.stringify(this.name)} in the database at ${showAddress(address)} to be of version ${schemaVersion}, found version ${found}`,
      {
        hint: older
          ? `Bring it up to date with \`${installCommand(this.name)}\``
          : `Use the client that belongs to it: \`npm install @pgque/client@${found}\``,
        details: { ...address, schema: this.name, expectedVersion: schemaVersion, foundVersion: found },
      },
    );
  }
}

/**
 * Whether a schema serves a client that needs a version: the same or a later compatible one, so that during a rolling deployment
 * the schema goes first. Before 1.0 the second number is the one that breaks.
 */
export function serves(found: string, needed: string): boolean {
  const [have, need] = [numbers(found), numbers(needed)];
  const compatible = have[0] === need[0] && (need[0] !== 0 || have[1] === need[1]);
  return compatible && compare(have, need) >= 0;
}

function numbers(version: string): [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.+-]/).map((part) => Number.parseInt(part, 10));
  return [major, minor, patch];
}

function compare(a: readonly number[], b: readonly number[]): number {
  return a.map((n, i) => n - (b[i] ?? 0)).find((difference) => difference !== 0) ?? 0;
}
