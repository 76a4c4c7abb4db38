import { describe } from "vitest";
import postgres from "postgres";
import { field } from "../support/field.ts";
import { conformance } from "./conformance.ts";

type Options = Parameters<typeof postgres>[1];

function suite(options: Options): void {
  conformance<postgres.TransactionSql>({
    open: async (url, max) => {
      const sql = postgres(url, { max, onnotice: () => undefined, ...options });
      return {
        transaction: (work, isolation) =>
          sql.begin(isolation === undefined ? "" : `isolation level ${isolation}`, work) as ReturnType<typeof work>,
        nested: (tx, work) => tx.savepoint(work) as ReturnType<typeof work>,
        run: (tx, statement) => tx.unsafe(statement),
        end: () => sql.end(),
      };
    },
    sqlstateOf: (error) => field(error, "code"),
  });
}

describe("as it comes", () => suite({}));
describe("with columns renamed, and without its look-up of array types", () =>
  suite({ transform: postgres.pascal, fetch_types: false }));
