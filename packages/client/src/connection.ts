import { createHash } from "node:crypto";
import { addressOf, isPool } from "./address.ts";
import { databaseError } from "./database-error.ts";
import { PgqueError } from "./errors.ts";
import type { Executor } from "./executor.ts";
import type { Schema } from "./schema.ts";

/** A row as it comes from the database. */
export type Row = Record<string, unknown>;

/** Whom a statement is about. */
export interface About {
  queue?: string;
  consumer?: string;
}

/** An executor and the schema it is to use: runs the statements of functions.ts and explains their failures. */
export class Connection {
  readonly #executor: Executor;
  readonly #schema: Schema;
  readonly #prepare: boolean;

  /** `prepare`: whether statements are prepared under a name. */
  constructor(executor: Executor, schema: Schema, prepare: boolean) {
    this.#executor = executor;
    this.#schema = schema;
    this.#prepare = prepare;
  }

  /** Whether each statement is a transaction of its own, and not a part of the caller's. */
  get commitsEachStatement(): boolean {
    return isPool(this.#executor);
  }

  /** The rows of a statement. `text` is given the schema's quoted name; `about` goes into the error of a failure. */
  async rows(text: (schema: string) => string, values: unknown[], about: About = {}): Promise<Row[]> {
    try {
      const statement = { text: text(await this.#schema.quoted(this.#executor)), values };
      const { rows } = await this.#executor.query(
        this.#prepare ? { ...statement, name: statementName(statement.text) } : statement,
      );
      return rows;
    } catch (cause) {
      const error = databaseError(cause, { address: addressOf(this.#executor), schema: this.#schema.name, ...about });
      if (error instanceof PgqueError && error.code === "SCHEMA_NOT_INSTALLED") this.#schema.forget();
      throw error;
    }
  }

  /** The column `value` of the only row. */
  async value(text: (schema: string) => string, values: unknown[], about: About = {}): Promise<unknown> {
    const [row] = await this.rows(text, values, about);
    return row?.["value"];
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
