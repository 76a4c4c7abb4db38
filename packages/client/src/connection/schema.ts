import { installedVersion, isOlder, quoteIdentifier, schemaVersion, serves, type SqlClient } from "@pgque/sql";
import { addressOf, showAddress } from "./address.ts";
import { installCommand, notInstalled } from "../errors/database-error.ts";
import { PgqueError } from "../errors/errors.ts";
import type { Queryable, Statement } from "./queryable.ts";

/** The schema that the SQL functions are in: looked for and checked once, at first use. */
export class Schema {
  readonly name: string;
  #quoted: string | undefined;
  // one check at a time per connection; to wait for another connection's could wait for a lock that the waiter holds
  readonly #checks = new WeakMap<Queryable, Promise<string>>();

  constructor(name: string) {
    this.name = name;
  }

  /** The schema's name as the server quotes it, once it was looked for. */
  get known(): string | undefined {
    return this.#quoted;
  }

  /**
   * The same, looked for unless it is known. `run`: runs a statement on the queryable.
   *
   * @throws PgqueError SCHEMA_NOT_INSTALLED, SCHEMA_VERSION
   */
  async quoted(queryable: Queryable, run: (statement: Statement) => ReturnType<Queryable["query"]>): Promise<string> {
    if (this.#quoted !== undefined) return this.#quoted;
    let check = this.#checks.get(queryable);
    if (check === undefined) {
      check = this.#check(queryable, { query: (text, values = []) => run({ text, values }) }).finally(() =>
        this.#checks.delete(queryable),
      );
      this.#checks.set(queryable, check);
    }
    return check;
  }

  /** Whether the database has answered before. */
  get wasFound(): boolean {
    return this.#quoted !== undefined;
  }

  /** Looks again at the next use: something that was there is not any more. */
  forget(): void {
    this.#quoted = undefined;
  }

  async #check(queryable: Queryable, client: SqlClient): Promise<string> {
    const found = await installedVersion(client, { schema: this.name });
    if (found === null) {
      const address = addressOf(queryable);
      throw notInstalled(showAddress(address), this.name, { ...address, schema: this.name });
    }
    if (!serves(found, schemaVersion)) throw this.#otherVersion(queryable, found);
    this.#quoted = await quoteIdentifier(client, this.name);
    return this.#quoted;
  }

  #otherVersion(queryable: Queryable, found: string): PgqueError {
    const older = isOlder(found, schemaVersion);
    const address = addressOf(queryable);
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
