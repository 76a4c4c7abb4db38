import knexOf, { type Knex } from "knex";
import type { Executor } from "@pgque/client";
import { field } from "../support/field.ts";
import { conformance } from "./conformance.ts";

/** The documented adapter, and the transaction that it is of. */
interface Adapted extends Executor {
  trx: Knex.Transaction;
}

function adapted(trx: Knex.Transaction): Adapted {
  return { trx, query: ({ text, values = [] }) => trx.raw(text.replaceAll(/\$\d+/g, "?"), values as Knex.Value[]) };
}

conformance<Adapted>({
  open: async (connection, max) => {
    const knex = knexOf({ client: "pg", connection, pool: { min: 0, max } });
    return {
      transaction: (work, isolationLevel) =>
        knex.transaction((trx) => work(adapted(trx)), isolationLevel && { isolationLevel }),
      nested: ({ trx }, work) => trx.transaction((inner) => work(adapted(inner))),
      run: ({ trx }, statement) => trx.raw(statement),
      end: () => knex.destroy(),
    };
  },
  sqlstateOf: (error) => field(error, "code"),
});
