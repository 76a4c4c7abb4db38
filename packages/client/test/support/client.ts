import { afterAll } from "vitest";
import { freshDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { Pgque, isPgqueError, PgqueError } from "@pgque/client";

/** A database of the test file's own and a client of it; both end with the file. */
export async function freshClient(): Promise<{ database: TestDatabase; pgque: Pgque }> {
  const database = await freshDatabase();
  afterAll(() => database.drop());
  return { database, pgque: new Pgque(database.pool()) };
}

/** The error that something fails with; fails when it is not a PgqueError. */
export async function failure(work: Promise<unknown> | (() => unknown)): Promise<PgqueError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    if (isPgqueError(error)) return error;
    throw error;
  }
  throw new Error("expected a PgqueError, got a result");
}
