import { afterAll } from "vitest";
import { Pgque } from "@pgque/client";
import { freshDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { type Ended, pgque, Running } from "./pgque.ts";

/** The command against a database of the test file's own. */
export interface Cli {
  database: TestDatabase;
  /** A client of the same database, to see what the commands have done. */
  client: Pgque;
  run: (...args: string[]) => Promise<Ended>;
  /** Runs it with `--json` and returns what it printed; fails unless it exits with 0. */
  json: (...args: string[]) => Promise<never>;
  input: (text: string | Uint8Array, ...args: string[]) => Promise<Ended>;
  /** Starts it and leaves standard input open. */
  start: (...args: string[]) => Running;
}

export async function freshCli(): Promise<Cli> {
  const database = await freshDatabase();
  const client = new Pgque(database.pool());
  afterAll(() => database.drop());
  const env = { DATABASE_URL: database.url };
  return {
    database,
    client,
    run: (...args) => pgque(args, env),
    async json(...args) {
      const { code, out, err } = await pgque([...args, "--json"], env);
      if (code !== 0 || err !== "") throw new Error(`pgque ${args.join(" ")} exited with ${code}: ${err}`);
      return JSON.parse(out) as never;
    },
    input: (text, ...args) => pgque(args, env, text),
    start: (...args) => new Running(args, env, undefined, null),
  };
}

/** The objects of JSON lines. */
export function jsonLines(text: string): never[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as never);
}
