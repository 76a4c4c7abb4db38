import { field } from "../options/field.ts";
import type { Queryable } from "../connection/queryable.ts";

/** The `trx` of Knex's `transaction`. */
export interface KnexTransaction {
  raw(sql: string, bindings: never): PromiseLike<unknown>;
  isCompleted(): boolean;
  savepoint: unknown;
}

/** Runs statements on a transaction of Knex. A text: what is wrong with the handle; undefined: not one of this library. */
export function knex(handle: unknown): Queryable | string | undefined {
  if (typeof handle !== "function" || typeof field(handle, "raw") !== "function") return undefined;
  if (typeof field(handle, "isCompleted") !== "function") {
    return typeof field(handle, "queryBuilder") === "function"
      ? "got Knex's `knex`: pass what `knex.transaction(async (trx) => …)` gives"
      : undefined;
  }
  const trx = handle as unknown as KnexTransaction;
  return {
    query: async ({ text, values = [] }) => {
      // it writes parameters as question marks, whose values come in the order of the text
      const bindings: unknown[] = [];
      const sql = text.replaceAll("?", String.raw`\?`).replaceAll(/\$(\d+)/g, (_, n) => {
        bindings.push(values[Number(n) - 1]);
        return "?";
      });
      const result = await trx.raw(sql, bindings as never);
      return { rows: field(result, "rows") as Record<string, unknown>[] };
    },
  };
}
