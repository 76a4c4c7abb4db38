import type { PoolClient } from "pg";
import { field } from "../support/field.ts";
import { conformance } from "./conformance.ts";
import { brokenConnection } from "./conformance/broken-connection.ts";
import type { Library } from "./library.ts";
import { poolOf } from "./pool.ts";

const library: Library<PoolClient> = {
  open: async (connectionString, max) => {
    const pool = poolOf(connectionString, max);
    return {
      transaction: async (work, isolation) => {
        const client = await pool.connect();
        try {
          await client.query(isolation === undefined ? "begin" : `begin isolation level ${isolation}`);
          const result = await work(client);
          await client.query("commit");
          return result;
        } catch (error) {
          await client.query("rollback").catch(() => undefined);
          throw error;
        } finally {
          client.release();
        }
      },
      nested: async (client, work) => {
        await client.query("savepoint nested");
        try {
          return await work(client);
        } catch (error) {
          await client.query("rollback to nested");
          throw error;
        }
      },
      run: (client, statement) => client.query(statement),
      end: () => pool.end(),
    };
  },
  sqlstateOf: (error) => field(error, "code"),
};

conformance(library);
brokenConnection(library);
