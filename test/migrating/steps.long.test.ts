import { randomBytes } from "node:crypto";
import { Pgque } from "@pgque/client";
import { expect, inject, onTestFinished, test } from "vitest";
import { bookings } from "../../docs/examples/migrating/queues.ts";
import type { TestDatabase } from "../support/database.ts";
import { start } from "../support/example.ts";
import { asAdmin } from "../support/server.ts";
import { until } from "../support/until.ts";
import { graphileWorker } from "./graphile-worker.ts";
import { pgBoss } from "./pg-boss.ts";
import { move, shop, waiting } from "./shop.ts";

const ada = "ada@example.org";

interface Old {
  schema: string;
  /** What `move.ts` prints when it has moved so many jobs, and the schedules there were. */
  moved(jobs: number, schedules: number): string;
  mail(database: TestDatabase, to: string): Promise<void>;
  book(database: TestDatabase, cents: number): Promise<void>;
  /** Finds the jobs that have failed and will be tried again. */
  failing: string;
}

const systems: [name: string, old: Old][] = [
  [
    "pg-boss",
    {
      schema: "pgboss",
      moved: (jobs, schedules) => `moved ${jobs} and ${schedules} schedules\n`,
      mail: async (database, to) => {
        await using boss = await pgBoss(database);
        await boss.send("mails", { to, subject: "late" });
      },
      book: async (database, cents) => {
        await using boss = await pgBoss(database);
        await boss.send("bookings", { account: "b", cents }, { singletonKey: "b" });
      },
      failing: "select from pgboss.job where state = 'retry'",
    },
  ],
  [
    "graphile-worker",
    {
      schema: "graphile_worker",
      moved: (jobs) => `moved ${jobs}\n`,
      mail: async (database, to) => {
        await (await graphileWorker(database)).addJob("mail", { to, subject: "late" });
      },
      book: async (database, cents) => {
        await (await graphileWorker(database)).addJob("book", { account: "b", cents }, { queueName: "b" });
      },
      failing: "select from graphile_worker.jobs where attempts > 0 and locked_at is null",
    },
  ],
];

/** A program of the documents, with what it has printed. */
function program(file: string, database: TestDatabase) {
  const { child, output, closed } = start(`migrating/${file}`, database.url);
  onTestFinished(() => void child.kill("SIGKILL"));
  const printed = (line: string) => until(() => output.text.split("\n").includes(line), `${file} prints ${line}`);
  const stop = async () => {
    child.kill("SIGTERM");
    expect({ code: await closed, output: output.text }).toMatchObject({ code: 0 });
  };
  return { output, printed, stop };
}

test.each(systems)("a shop moves from %s step by step, with workers of both running", async (name, old) => {
  await using database = await shop();
  const admin = await database.connect();
  const before = program(`${name}/before.ts`, database);
  await before.printed(`mail ${ada} order 1`);
  await before.printed(`book ${ada} 500`);

  // steps 2 and 3: new workers beside the old ones, and a sender that has moved
  const after = program("after.ts", database);
  await after.printed(`mail ${ada} order 3`);
  await after.printed(`book ${ada} 990`);

  // step 4: what waits in the old system is drained there
  await old.mail(database, "bob@example.org");
  await before.printed("mail bob@example.org late");
  expect(after.output.text).not.toContain("bob");

  // step 5: what is delayed, and what has failed there, goes on here, and as often as one likes
  await old.mail(database, "nobody");
  let moved = "";
  await until(async () => {
    if ((await admin.query(old.failing)).rowCount === 0) return false;
    moved = (await move(`${name}/move.ts`, database)).output;
    return true;
  }, "the mail to nobody has failed");
  expect([old.moved(2, 1), old.moved(1, 1)]).toContain(moved);
  await until(async () => {
    await move(`${name}/move.ts`, database);
    return (await waiting(database))["late"] !== undefined;
  }, "it has been moved");
  expect(await waiting(database)).toMatchObject({
    "how was order 1?": { dueAt: expect.any(Date) },
    "how was order 3?": { dueAt: expect.any(Date) },
    late: { headers: { moved_from: expect.stringContaining(name) } },
  });

  // step 6
  await before.stop();
  expect(await move(`${name}/move.ts`, database)).toEqual({ code: 0, output: old.moved(0, 0) });
  await after.stop();
});

test.each(systems)("where order matters, a queue is paused until %s is empty", async (name, old) => {
  await using database = await shop();
  await using pgque = new Pgque(database.pool());
  await old.book(database, 1);
  await pgque.ensure(bookings);
  await pgque.queues.pause(bookings);
  await pgque.send(bookings, { account: "b", cents: 2 }, { key: "b" });
  const after = program("after.ts", database);
  await after.printed(`mail ${ada} order 3`);
  const before = program(`${name}/before.ts`, database);
  await before.printed("book b 1");
  await before.stop();
  expect(after.output.text).not.toContain("book");
  await pgque.queues.resume(bookings);
  await after.printed("book b 2");
  await after.stop();
});

test.each(systems)("the move from %s needs a member of pgque_admin that sees the library's jobs", async (name, old) => {
  await using database = await shop();
  const admin = await database.connect();
  await old.mail(database, ada);
  const role = `mover_${randomBytes(6).toString("hex")}`;
  await admin.query(`create role ${role} login password 'secret' in role pgque_admin`);
  onTestFinished(async () => void (await asAdmin(inject("serverUrl"), (server) => server.query(`drop role ${role}`))));
  const url = new URL(database.url);
  [url.username, url.password] = [role, "secret"];
  const as = { ...database, url: url.href };
  const refused = { code: 1, output: expect.stringMatching(/permission denied|row-level security/) };
  expect(await move(`${name}/move.ts`, as)).toMatchObject(refused);
  await admin.query(`grant usage on schema ${old.schema} to ${role}`);
  await admin.query(`grant all on all tables in schema ${old.schema} to ${role}`);
  if (name === "graphile-worker") {
    // row security shows its jobs to the owner of its tables alone
    expect(await move(`${name}/move.ts`, as)).toMatchObject(refused);
    await admin.query(ownTables(old.schema, role));
  }
  expect(await move(`${name}/move.ts`, as)).toEqual({ code: 0, output: old.moved(1, 0) });
  expect(Object.keys(await waiting(database))).toEqual(["late"]);
});

function ownTables(schema: string, role: string): string {
  return `do $$
    declare t regclass;
    begin
      for t in select oid from pg_class where relnamespace = '${schema}'::regnamespace and relkind = 'r'
      loop execute format('alter table %s owner to ${role}', t); end loop;
    end $$`;
}
