import { Pgque, type PeekedMessage } from "@pgque/client";
import { expect } from "vitest";
import { bookings, digests, mails } from "../../docs/examples/migrating/queues.ts";
import { freshDatabase, type TestDatabase } from "../support/database.ts";
import { start } from "../support/example.ts";
import { until } from "../support/until.ts";

/** A database with the table of the examples. */
export async function shop(): Promise<TestDatabase> {
  const database = await freshDatabase();
  const client = await database.connect();
  await client.query("create table public.orders (id int primary key, account text, cents int)");
  return database;
}

/** Runs an example until `isDone` of its lines about mails, bookings and digests (but the daily one, whose hour may come), stops it, and returns them. */
export async function serve(
  file: string,
  database: TestDatabase,
  isDone: (lines: string[]) => boolean | Promise<boolean>,
): Promise<string[]> {
  const { child, output, closed } = start(`migrating/${file}`, database.url);
  const lines = () => output.text.split("\n").filter((line) => /^(mail|book|digest) (?!daily)/.test(line));
  try {
    await until(async () => child.exitCode !== null || (await isDone(lines())), `${file} is done`);
  } finally {
    child.kill("SIGTERM");
  }
  expect({ code: await closed, output: output.text }).toMatchObject({ code: 0 });
  return lines();
}

/** Runs a `move.ts` to its end. */
export async function move(file: string, database: TestDatabase): Promise<{ code: number | null; output: string }> {
  const { output, closed } = start(`migrating/${file}`, database.url);
  return { code: await closed, output: output.text };
}

type Told = Pick<PeekedMessage, "dueAt" | "priority" | "key" | "headers">;

/** What waits in the queues of the examples, by subject, by account and cents, or by kind, in the order in which it was sent. */
export async function waiting(database: TestDatabase): Promise<Record<string, Told>> {
  const pgque = new Pgque(database.pool());
  const told: Record<string, Told> = {};
  for (const queue of [mails, bookings, digests]) {
    for (const { payload, dueAt, priority, key, headers } of await pgque.messages.peek(queue, { max: 1000 })) {
      const { subject, account, cents, kind } = payload as Record<string, string>;
      told[subject ?? kind ?? `${account} ${cents}`] = { dueAt, priority, key, headers };
    }
  }
  return told;
}
