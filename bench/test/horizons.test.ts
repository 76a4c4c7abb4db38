import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { freshDatabase, ownServer } from "../../test/support/database.ts";
import { until } from "../../test/support/until.ts";
import type { Horizon } from "#src/horizons/horizon";
import { laggingConsumer } from "#src/horizons/lagging-consumer";
import { logicalSlot } from "#src/horizons/logical-slot";
import { prepared } from "#src/horizons/prepared";
import { retainDeadTuples } from "#src/horizons/retain-dead-tuples";
import { standbyFeedback } from "#src/horizons/standby-feedback";
import { horizonNames, serverSettingsFor } from "#src/horizons/registry";
import { whyNot, NotRun } from "#src/runner/failure";
import { leftovers, siteOn, type Site } from "./support/site.ts";

const reasonOf = async (horizon: Horizon, site: Site): Promise<string | null> => {
  const failure = await horizon.check?.(site).catch((error: unknown) => error);
  return failure === undefined ? null : whyNot(failure).skipped;
};

test("a horizon that the server is not set up for says which setting is missing", async () => {
  await using server = await ownServer({
    settings: { wal_level: "minimal", max_wal_senders: 0, max_prepared_transactions: 0 },
  });
  const site = await siteOn(server);
  expect(await reasonOf(prepared, site)).toBe(
    "max_prepared_transactions is 0 on this server: set it to 1 or more and restart it",
  );
  expect(await reasonOf(logicalSlot, site)).toBe(
    "wal_level is minimal on this server: set it to logical and restart it",
  );
  expect(await reasonOf(standbyFeedback, site)).toBe(
    "wal_level is minimal on this server: set it to replica or logical and restart it",
  );
  expect(await reasonOf(retainDeadTuples, site)).toMatch(
    /^retain_dead_tuples is of PostgreSQL 19 and later, this is 17\.\d+/,
  );
});

test("a horizon that needs a slot says so when all are taken, and when the role may not have one", async () => {
  await using server = await ownServer({ settings: { max_replication_slots: 1 } });
  const site = await siteOn(server);
  expect(await reasonOf(logicalSlot, site)).toBeNull();
  await site.admin.query("select pg_create_physical_replication_slot('taken')");
  expect(await reasonOf(logicalSlot, site)).toBe(
    "all 1 replication slots of this server are taken: raise max_replication_slots",
  );
  await site.admin.query("create role plain; set role plain");
  expect(await reasonOf(standbyFeedback, site)).toBe(
    "role plain has no right to replicate: alter role plain replication",
  );
});

test("a standby that pg_hba.conf keeps out is not run", async () => {
  await using server = await ownServer();
  const site = await siteOn(server);
  const { rows } = await site.admin.query("select current_setting('hba_file') as file");
  writeFileSync(rows[0].file, `host replication all all reject\n${readFileSync(rows[0].file, "utf8")}`);
  await site.admin.query("select pg_reload_conf()");
  await until(async () => {
    const failure = await standbyFeedback.hold(site).then(
      (holder) => holder.release(),
      (error: unknown) => error,
    );
    const reason = failure === undefined ? null : whyNot(failure).skipped;
    return reason?.startsWith("the server takes no replication connection from here: pg_hba.conf rejects") ?? false;
  }, "the server has read its pg_hba.conf");
  expect(await leftovers(site.admin)).toMatchObject({ slots: 0 });
});

test("a consumer that takes nothing has all that was sent since kept for it, and is no holder", async () => {
  await using database = await freshDatabase();
  let sent = 0;
  const site = await siteOn(database, { sent: () => sent });
  await site.admin.query("select pgque.create_queue('bench'); select pgque.subscribe('bench', 'bench')");
  const send = async (): Promise<void> => {
    await site.admin.query("select pgque.send('bench', 'x')");
    sent += 1;
  };
  await send();
  const holder = await laggingConsumer.hold(site);
  expect(await holder.prove()).toMatchObject({ messagesKept: 0 });
  await send();
  await send();
  expect(await holder.prove()).toMatchObject({ messagesKept: 2 });
  await site.admin.query("select pgque.seek('bench', 'laggard', 'latest')");
  await expect(holder.prove()).rejects.toThrow(
    "0 messages are kept for the consumer laggard, expected the 2 sent since",
  );
  await holder.release();
  await expect(holder.prove()).rejects.toThrow("the consumer laggard is gone");
  expect(await reasonOf(laggingConsumer, { ...site, systemName: "skip-locked" })).toBe(
    "in skip-locked a message goes to one consumer only: none can lag behind another",
  );
});

test("what could not be run is no failure", () => {
  expect(whyNot(new NotRun("there is none"))).toEqual({ skipped: "there is none", error: null });
  expect(whyNot(new Error("broken"))).toEqual({ skipped: null, error: "broken" });
});

test("an embedded server is started with what the horizons that were asked for need, and nothing else", () => {
  expect(serverSettingsFor(["none", "repeatable-read"])).toEqual({});
  expect(serverSettingsFor(["prepared", "logical-slot"])).toEqual({
    max_prepared_transactions: 10,
    wal_level: "logical",
  });
});

test("every horizon is in bench/README.md and in the help of pgque bench", () => {
  const root = new URL("../../", import.meta.url);
  const docs = readFileSync(new URL("bench/README.md", root), "utf8");
  const help = readFileSync(new URL("docs/cli.md", root), "utf8");
  expect(horizonNames.filter((name) => !docs.includes(`**${name}**`))).toEqual([]);
  expect(horizonNames.filter((name) => !help.includes(name))).toEqual([]);
});
