import { isPgqueError, Pgque } from "@pgque/client";
import type { HandlerContext } from "@pgque/worker";
import { PrismaPg } from "@prisma/adapter-pg";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import knexOf from "knex";
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import postgres from "postgres";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { PrismaClient } from "../../../docs/examples/transactions/generated/prisma/client.ts";
import { freshDatabase } from "../../../test/support/database.ts";
import { until } from "../../../test/support/until.ts";
import { freshQueue, gate, startWorker, unfinished } from "./support/worker.ts";

// `context.tx` in the hands of each library that can use a connection of pg: one suite for all of them.

const database = await freshDatabase();
const pgque = new Pgque(database.pool({ max: 20 }));
const client = await database.connect();
await client.query("create table public.account (id int)");
const knex = knexOf({ client: "pg" });
afterAll(() => database.drop());
beforeEach(async () => void (await client.query("truncate public.account")));

const booked = async (): Promise<number> => (await client.query("select from public.account")).rowCount ?? 0;

type Tx = HandlerContext["tx"];

const libraries: Record<string, (tx: Tx, statement: string) => Promise<unknown>> = {
  "pg, by promises": (tx, statement) => tx.query(statement),
  "pg, by callbacks": (tx, statement) =>
    new Promise<void>((resolve, reject) => tx.query(statement, (error) => (error ? reject(error) : resolve()))),
  drizzle: (tx, statement) => drizzle(tx).execute(drizzleSql.raw(statement)),
  kysely: (tx, statement) => kyselyOf(tx).executeQuery(CompiledQuery.raw(statement)),
  knex: async (tx, statement) => knex.raw(statement).connection(tx),
};

function kyselyOf(tx: Tx): Kysely<unknown> {
  const connection = { query: tx.query.bind(tx), release: () => undefined };
  const pool = { connect: async () => connection, end: async () => undefined, options: {} };
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}

const insert = "insert into public.account values (1)";
const slowly = "insert into public.account select 1 from pg_sleep(0.2)";

/** Of a library of its own the refusal is the cause, or the cause of that. */
function isClosed(error: unknown): boolean {
  return isPgqueError(error, "CLOSED") || (error instanceof Error && isClosed(error.cause));
}

describe.for(Object.entries(libraries))("by %s", ([, run]) => {
  test("what is written commits with the ack", async () => {
    const queue = await freshQueue(pgque);
    await pgque.sendMany(queue, [1, 2, 3]);
    await startWorker(pgque, queue, async (_, { tx }) => void (await run(tx, insert)), { transactional: true });
    await until(async () => (await booked()) === 3 && (await unfinished(pgque, queue)).open === 0, "all are booked");
    expect(await pgque.consumers.list(queue)).toMatchObject([{ depth: 0, inFlight: 0 }]);
  });

  test("what is written by a handler that throws is rolled back", async () => {
    const queue = await freshQueue(pgque);
    await pgque.send(queue, 1);
    let attempts = 0;
    const handle = async ({ attempt }: { attempt: number }, { tx }: HandlerContext): Promise<void> => {
      await run(tx, insert);
      attempts = attempt;
      if (attempt < 3) throw new Error("not yet");
    };
    await startWorker(pgque, queue, handle, { transactional: true });
    await until(
      async () => attempts === 3 && (await unfinished(pgque, queue)).open === 0,
      "the third attempt is acked",
    );
    expect(await booked()).toBe(1);
  });

  test("what is written after the handler has failed is refused", async () => {
    const queue = await freshQueue(pgque, { maxRetries: 0 });
    const next = await freshQueue(pgque);
    await pgque.sendMany(queue, [1, 2, 3, 4]);
    const { open, passed } = gate();
    const late: PromiseSettledResult<unknown>[] = [];
    const failLater = async ({ tx, send }: HandlerContext): Promise<void> => {
      await passed;
      late.push(...(await Promise.allSettled([(async () => run(tx, insert))(), send(next, "never")])));
    };
    // one after the other, so that the connection of the first is that of those after it
    const handle = (_: unknown, context: HandlerContext): Promise<void> =>
      Promise.all([Promise.reject(new Error("fails")), failLater(context)]).then(() => undefined);
    await startWorker(pgque, queue, handle, { transactional: true, concurrency: 1 });
    await until(async () => (await unfinished(pgque, queue)).dead === 4, "all have failed");
    open();
    await until(() => late.length === 8, "all have gone on");
    expect(late.map((end) => end.status === "rejected" && isClosed(end.reason))).toEqual(late.map(() => true));
    expect([await booked(), await pgque.messages.peek(next)]).toEqual([0, []]);
  });

  test("what is being written when another part of the handler fails is not committed", async () => {
    const queue = await freshQueue(pgque, { maxRetries: 0 });
    await pgque.sendMany(queue, [1, 2]);
    let ended = 0;
    const handle = (_: unknown, { tx }: HandlerContext): Promise<void> =>
      Promise.all([run(tx, slowly).finally(() => (ended += 1)), Promise.reject(new Error("fails"))]).then(
        () => undefined,
      );
    await startWorker(pgque, queue, handle, { transactional: true, concurrency: 1 });
    await until(async () => (await unfinished(pgque, queue)).dead === 2, "both have failed");
    // done, or refused where the library had not yet begun it
    await until(() => ended === 2, "both writes have ended");
    expect(await booked()).toBe(0);
  });
});

describe("a library that connects by itself cannot use a handler's transaction, and is told so:", () => {
  const unusable: Record<string, (tx: Tx) => Promise<unknown>> = {
    prisma: async (tx) => new PrismaClient({ adapter: new PrismaPg(tx as never) }).$executeRawUnsafe(insert),
    "postgres.js": async (tx) => postgres(tx as never).unsafe(insert),
    "a pool of pg": async (tx) => new Pool(tx as never).query(insert),
  };
  test.for(Object.entries(unusable))("%s", async ([, run]) => {
    const queue = await freshQueue(pgque, { maxRetries: 0 });
    await pgque.send(queue, 1);
    await startWorker(pgque, queue, async (_, { tx }) => void (await run(tx)), { transactional: true });
    await until(async () => (await unfinished(pgque, queue)).dead === 1, "it has failed");
    expect((await pgque.deadLetters.list(queue))[0]?.reason).toContain(
      "expected the transaction of a handler to be used as a connection of pg, it was read as the address of a database",
    );
    expect(await booked()).toBe(0);
  });
});
