import knexOf, { type Knex } from "knex";
import { field } from "../support/field.ts";
import { conformance } from "./conformance.ts";

conformance<Knex.Transaction>({
  open: async (connection, max) => {
    const knex = knexOf({ client: "pg", connection, pool: { min: 0, max } });
    return {
      transaction: (work, isolationLevel) => knex.transaction(work, isolationLevel && { isolationLevel }),
      nested: (trx, work) => trx.transaction(work),
      run: (trx, statement) => trx.raw(statement),
      end: () => knex.destroy(),
    };
  },
  sqlstateOf: (error) => field(error, "code"),
});
