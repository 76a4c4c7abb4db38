import { Client } from "pg";
import { expect, test } from "vitest";
import { freshDatabase, ownServer } from "../../../../test/support/database.ts";
import { until } from "../../../../test/support/until.ts";
import { Fleet } from "./fleet.ts";

/** Waits until each worker has failed to receive and tried again in vain. */
async function allFail(fleet: Fleet, meanwhile: () => Promise<void>): Promise<void> {
  const failures = (pid: number) => fleet.ledger.count("said", { pid, what: "receive failed, will try again" });
  const before = new Map(fleet.workers.map(({ pid = 0 }) => [pid, failures(pid)]));
  await until(
    async () => {
      await meanwhile();
      return [...before].every(([pid, known]) => failures(pid) > known + 1);
    },
    "each has failed more than once",
    60_000,
  );
}

test("the primary becomes a standby, and later the address is that of a primary again", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  const setReadOnly = (value: string): Promise<unknown> =>
    admin.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`,
    );
  await using fleet = await Fleet.start({ url: database.url, readers: 2 });
  await setReadOnly("on");
  await cutAll(admin);
  await until(() => fleet.ledger.count("refused") > 1, "senders are refused", 60_000);
  // sessions that are there stay read-only: whoever keeps them stays with the standby
  await admin.query("set default_transaction_read_only = off");
  await setReadOnly("off");
  await fleet.allWork();
  await fleet.verdictAfter(1);
});

test("the server has no connection to spare", async () => {
  await using own = await ownServer({ settings: { max_connections: 60 } });
  const admin = await own.connect();
  const hogs: Client[] = [];
  const hogAll = async (): Promise<void> => {
    await cutAll(admin);
    for (;;) {
      const hog = new Client({ connectionString: own.url, application_name: "hog" });
      hog.on("error", () => undefined);
      try {
        await hog.connect();
        hogs.push(hog);
      } catch (error) {
        expect(error).toMatchObject({ code: "53300" });
        return;
      }
    }
  };
  await using fleet = await Fleet.start({ url: own.url, readers: 1 });
  await allFail(fleet, hogAll);
  await Promise.all(hogs.map((hog) => hog.end()));
  await fleet.allWork();
  await fleet.verdictAfter(1);
});

test("handlers hold every connection of the pool", async () => {
  await using database = await freshDatabase();
  await using fleet = await Fleet.start({
    url: database.url,
    workers: 2,
    options: { pool: { max: 2 }, queryTimeoutMs: 1000 },
  });
  await fleet.send("hog");
  await until(() => fleet.ledger.count("begun", { what: "hog" }) > 0, "one of them has all of its connections");
  const { pid } = fleet.ledger.entries.find(({ kind, what }) => kind === "begun" && what === "hog") ?? { pid: 0 };
  const failures = () => fleet.ledger.count("said", { pid, what: "receive failed, will try again" });
  await until(() => failures() > 1, "it has tried to receive more than once");
  for (const worker of fleet.workers) fleet.open(worker);
  await fleet.allWork();
  await fleet.verdictAfter(1);
});

test("sessions and transactions that are idle are ended by the server", async () => {
  await using database = await freshDatabase();
  const admin = await database.connect();
  for (const setting of ["idle_session_timeout", "idle_in_transaction_session_timeout"])
    await admin.query(
      `do $$ begin execute format('alter database %I set ${setting} = 300', current_database()); end $$`,
    );
  await using fleet = await Fleet.start({ url: database.url });
  await fleet.send("idle");
  await until(() => fleet.ledger.count("handled", { what: "idle" }) > 0, "it is handled when it comes again");
  const lost = () => fleet.ledger.count("said", { what: "connection that listens is lost" });
  await until(() => lost() > 3, "connections that listen have been ended, too");
  await fleet.allWork();
  await fleet.verdictAfter(1);
});

async function cutAll(admin: Client): Promise<void> {
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        and application_name <> 'hog'`,
  );
}
